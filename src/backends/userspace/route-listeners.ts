/** The listeners of all routes: opens and closes them, and knows where each route is served. */
import type { SyncReport } from '../../core/backend.ts'
import type { Look } from '../../core/inspect-pieces.ts'
import type { RouteKey } from '../../core/route.ts'
import { addTraffic, withoutOpen } from '../../core/traffic.ts'
import type { RouteTraffic, Traffic } from '../../core/traffic.ts'
import type {
  EndpointCounts,
  ListenerSpec,
  ListenResult,
  Relay,
  SocketAddress,
  TrafficCounts,
} from '../../dataplane/relay/relay.ts'
import { hostPort } from '../../net/ip.ts'
import { describeListener } from './describe-listener.ts'
import { noPortLeft, type FreePorts, type PortRange } from './free-ports.ts'
import type { PlannedListener, Purpose, RoutePlan } from './plan.ts'
import { listenersLook } from './pieces.ts'
import { PortMemory } from './port-memory.ts'

/** Where clients reach a route. */
export interface ServedAddress extends SocketAddress {
  readonly protocol: PlannedListener['protocol']
  readonly purpose: Purpose
}

export interface Listening {
  /** That of the plan. */
  readonly id: string
  /** Of the relay: whose endpoints serve there. */
  readonly pool: string
  readonly address: ServedAddress
}

export interface RouteListenersOptions {
  readonly relay: Relay
  /** Knows where port 0 may be; undefined: the kernel does. */
  readonly freePorts?: FreePorts
  /** Where it listened in the process that handed it over, with the same socket. */
  readonly portBefore?: (id: string) => number | undefined
  /** A listener has been opened. */
  readonly onOpened: (key: RouteKey, address: ServedAddress) => void
}

type Failure = SyncReport['failed'][number]

export class RouteListeners {
  readonly #options: RouteListenersOptions
  readonly #listeningByKey = new Map<RouteKey, readonly Listening[]>()
  readonly #keysByAddress = new Map<string, RouteKey>()
  /** Routes whose address somebody else holds: whoever frees it, the next sync takes it. */
  readonly #waiting = new Set<RouteKey>()
  readonly #ports = new PortMemory()
  /** What each route shall have. */
  readonly #plansByKey = new Map<RouteKey, RoutePlan>()
  /** Of listeners that a route had and has no more: its counters must not fall. */
  readonly #pastByKey = new Map<RouteKey, RouteTraffic>()

  constructor(options: RouteListenersOptions) {
    this.#options = options
  }

  get count(): number {
    return this.#keysByAddress.size
  }

  /** Routes with a listener. */
  get keys(): Iterable<RouteKey> {
    return this.#listeningByKey.keys()
  }

  /** Routes to look at in each sync, whatever has changed. */
  get waiting(): Iterable<RouteKey> {
    return this.#waiting
  }

  of(key: RouteKey): readonly Listening[] {
    return this.#listeningByKey.get(key) ?? []
  }

  /** Compares what the route shall have with what is there. Undefined: nothing was planned for it. */
  look(key: RouteKey): Look | undefined {
    const plan = this.#plansByKey.get(key)
    return plan && listenersLook(plan, (listener) => this.#portOf(key, listener))
  }

  /** What all routes shall have, as remarks. */
  rendered(): string {
    const plans = [...this.#plansByKey.values()].sort((left, right) => (left.key < right.key ? -1 : 1))
    return plans
      .flatMap(({ key, listeners }) =>
        listeners.map(
          (listener) => `# ${key} ${describeListener(listener, this.#portOf(key, listener) ?? listener.ports[0])}\n`,
        ),
      )
      .join('')
  }

  /** Closes what the plan does not have, or only what has one of these purposes. Returns how many. */
  async closeUnwanted(plan: RoutePlan, purposes?: readonly Purpose[]): Promise<number> {
    const { key, listeners } = plan
    if (listeners.length === 0) this.#plansByKey.delete(key)
    else this.#plansByKey.set(key, plan)
    const wantedIds = new Set(listeners.map(({ id }) => id))
    const isKept = ({ id, address }: Listening) =>
      wantedIds.has(id) || (purposes !== undefined && !purposes.includes(address.purpose))
    const closed = await this.closeUnless(key, isKept)
    // Gone for good, and not only at another address.
    if (listeners.length === 0) this.#pastByKey.delete(key)
    return closed
  }

  /** For a route that stays. Returns how many it has closed. */
  async closeUnless(key: RouteKey, isKept: (listening: Listening) => boolean): Promise<number> {
    const unwanted = this.of(key).filter((listening) => !isKept(listening))
    for (const { id, address } of unwanted) {
      this.#keepCounts(key, id)
      await this.#options.relay.remove(id)
      this.#options.freePorts?.giveBack(address.protocol, address.port)
      this.#keysByAddress.delete(addressText(address))
    }
    this.#note(key, this.of(key).filter(isKept))
    return unwanted.length
  }

  /** Opens what is missing, and gives the others their endpoints of now. */
  async serve({ key, listeners, problem }: RoutePlan): Promise<readonly Failure[]> {
    this.#waiting.delete(key)
    const failed: Failure[] = problem === undefined ? [] : [{ key, reason: problem }]
    for (const planned of listeners) {
      const result = await this.#listen(key, planned)
      if (result.ok) this.#noteListening(key, planned, result.address)
      else {
        failed.push({ key, reason: this.#explain(planned, result) })
        if (result.problem === 'in-use') this.#waiting.add(key)
      }
    }
    return failed
  }

  /** Of those routes, or of all. */
  traffic(keys?: ReadonlySet<RouteKey>): ReadonlyMap<RouteKey, RouteTraffic> {
    const trafficByKey = new Map<RouteKey, RouteTraffic>()
    for (const [key, listening] of this.#listeningByKey) {
      if (keys?.has(key) === false) continue
      const now = listening.map(({ id }) => trafficOf(this.#options.relay.counts(id)))
      trafficByKey.set(key, addTraffic(...now, this.#pastByKey.get(key), ...this.#endpointsOf(listening)))
    }
    return trafficByKey
  }

  /** Connections of the route that are open now. */
  openConnections(key: RouteKey): number {
    return this.of(key).reduce((sum, { id }) => sum + (this.#options.relay.counts(id)?.active ?? 0), 0)
  }

  async closeAll(): Promise<void> {
    for (const key of this.#listeningByKey.keys()) await this.closeUnwanted(planOfNothing(key))
  }

  /** Listeners may share a pool. */
  #endpointsOf(listening: readonly Listening[]): readonly RouteTraffic[] {
    const pools = [...new Set(listening.map(({ pool }) => pool))]
    return pools.map((pool) => ({
      endpoints: new Map(
        [...this.#options.relay.endpointCounts(pool)].map(([name, one]) => [name, endpointTraffic(one)]),
      ),
    }))
  }

  #portOf(key: RouteKey, { id }: PlannedListener): number | undefined {
    // Whoever carries the connections may have died.
    if (this.#options.relay.counts(id) === undefined) return undefined
    return this.of(key).find((listening) => listening.id === id)?.address.port
  }

  async #listen(key: RouteKey, planned: PlannedListener): Promise<ListenResult> {
    const { id, protocol, ip, allowedSources, keeps, pool } = planned
    const current = this.of(key).find((listening) => listening.id === id)
    const ports = current === undefined ? this.#portsToTry(planned) : [current.address.port]
    let result: ListenResult | undefined
    for (const port of ports) {
      const spec = { id, protocol, address: { ip, port }, allowedSources, ...(keeps && { keeps }), pool }
      result = await (current === undefined ? this.#open(spec) : this.#options.relay.set(spec))
      // Another port helps only if it was the port that could not be had.
      if (result.ok || (result.problem !== 'in-use' && result.problem !== 'not-permitted')) return result
    }
    // A range that is used up: whoever frees a port of it, the next sync takes it.
    return result ?? { ok: false, problem: 'in-use', message: `no port to listen on for ${id}` }
  }

  async #open(spec: ListenerSpec): Promise<ListenResult> {
    const { relay } = this.#options
    try {
      return await relay.set(spec)
    } catch (error) {
      // It may listen all the same, and nobody would know of it.
      await relay.remove(spec.id).catch(() => {})
      throw error
    }
  }

  *#portsToTry({ id, protocol, ports }: PlannedListener): Iterable<number> {
    const { freePorts, portBefore } = this.#options
    const before = ports.includes(0) ? portBefore?.(id) : undefined
    if (before !== undefined && isIn(before, freePorts?.bindingRange)) yield before
    for (const port of this.#ports.candidates(id, ports)) {
      if (port === 0 && freePorts !== undefined) yield* freePorts.candidates(protocol)
      else yield port
    }
  }

  #noteListening(key: RouteKey, planned: PlannedListener, { ip, port }: SocketAddress): void {
    const { id, protocol, purpose, pool } = planned
    const address: ServedAddress = { ip, port, protocol, purpose }
    const known = this.of(key)
    if (!known.some((listening) => listening.id === id)) this.#options.onOpened(key, address)
    const others = known.filter((listening) => listening.id !== id)
    this.#note(key, [...others, { id, pool: pool.id, address }])
    this.#keysByAddress.set(addressText(address), key)
    this.#options.freePorts?.take(protocol, port)
    this.#ports.remember(id, port)
  }

  #keepCounts(key: RouteKey, id: string): void {
    const carried = trafficOf(this.#options.relay.counts(id))
    if (carried !== undefined) this.#pastByKey.set(key, addTraffic(this.#pastByKey.get(key), withoutOpen(carried)))
  }

  #note(key: RouteKey, listening: readonly Listening[]): void {
    if (listening.length === 0) this.#listeningByKey.delete(key)
    else this.#listeningByKey.set(key, listening)
  }

  #explain(
    { purpose, protocol, ip, ports }: PlannedListener,
    { problem, message }: ListenResult & { ok: false },
  ): string {
    if (problem === 'in-use' && ports[0] === 0)
      return `${purpose}: ${noPortLeft(protocol, this.#options.freePorts?.bindingRange)}`
    const address = { ip, port: ports[0], protocol }
    const holder = problem === 'in-use' ? this.#keysByAddress.get(addressText(address)) : undefined
    if (holder === undefined) return `${purpose}: ${message}`
    const where = `${hostPort(ip, ports[0])}/${protocol}`
    return `${purpose}: cannot listen on ${where}: ${holder} already uses it; give one of the two Services another port or address`
  }
}

function isIn(port: number, range: PortRange | undefined): boolean {
  return range === undefined || (range.first <= port && port <= range.last)
}

function trafficOf(counts: TrafficCounts | undefined): RouteTraffic | undefined {
  if (counts === undefined) return undefined
  const { active: open, ...others } = counts
  return { ...others, open }
}

function endpointTraffic({ active: open, dialFailures, ...others }: EndpointCounts): Traffic {
  const { refused, timeout, unreachable, other } = dialFailures
  return { ...others, open, dialFailures: refused + timeout + unreachable + other }
}

/** The plan of a route that is gone. */
export function planOfNothing(key: RouteKey): RoutePlan {
  return { key, listeners: [], problem: undefined }
}

function addressText({ ip, port, protocol }: Pick<ServedAddress, 'ip' | 'port' | 'protocol'>): string {
  return `${protocol} ${hostPort(ip, port)}`
}
