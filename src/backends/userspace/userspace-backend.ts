/** Serves routes with plain sockets: no root, no kernel rules. */
import type { Backend, Change, NodeView, SyncReport } from '../../core/backend.ts'
import type { Logger } from '../../core/logger.ts'
import type { RouteKey } from '../../core/route.ts'
import type { ListenResult, Relay, SocketAddress } from '../../dataplane/relay/relay.ts'
import { hostPort } from '../../net/ip.ts'
import { planRoute, type ListenPolicy, type PlannedListener, type Purpose, type RoutePlan } from './plan.ts'
import { PortMemory } from './port-memory.ts'

/** Where clients reach a route. */
export interface ServedAddress extends SocketAddress {
  readonly protocol: PlannedListener['protocol']
  readonly purpose: Purpose
}

interface Listening {
  readonly id: string
  readonly address: ServedAddress
}

type Failure = SyncReport['failed'][number]

export class UserspaceBackend implements Backend {
  readonly name = 'userspace'
  readonly #relay: Relay
  readonly #policy: ListenPolicy
  readonly #log: Logger
  readonly #listeningByKey = new Map<RouteKey, readonly Listening[]>()
  readonly #keysByAddress = new Map<string, RouteKey>()
  /** Routes whose address somebody else holds: whoever frees it, the next sync takes it. */
  readonly #waiting = new Set<RouteKey>()
  readonly #ports = new PortMemory()

  constructor({ relay, listen, log }: { readonly relay: Relay; readonly listen: ListenPolicy; readonly log: Logger }) {
    this.#relay = relay
    this.#policy = listen
    this.#log = log
  }

  async sync(view: NodeView, change: Change, signal: AbortSignal): Promise<SyncReport> {
    const plans = this.#keysToLookAt(view, change).map((key) => this.#planOf(key, view))
    // Everything that goes is closed before anything opens: addresses may pass from one route to another.
    let closed = 0
    for (const plan of plans) closed += await this.#closeUnwanted(plan)
    const failed: Failure[] = []
    for (const plan of plans) {
      signal.throwIfAborted()
      failed.push(...(await this.#serve(plan)))
    }
    return { facts: { routes: plans.length, closed, listeners: this.#keysByAddress.size }, failed }
  }

  /** Where this route can be reached now; the cluster IP's address comes first. */
  addressesOf(key: RouteKey): readonly ServedAddress[] {
    return (this.#listeningByKey.get(key) ?? []).map(({ address }) => address)
  }

  /** Stops listening. The relay belongs to whoever made it, and so do the connections that are still open in it. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const key of this.#listeningByKey.keys()) await this.#closeUnwanted(nothing(key))
  }

  #keysToLookAt(view: NodeView, change: Change): readonly RouteKey[] {
    if (!change.full) return [...new Set([...change.keys, ...this.#waiting])]
    return [...new Set([...this.#listeningByKey.keys(), ...change.keys, ...view.routesByKey.keys()])]
  }

  #planOf(key: RouteKey, view: NodeView): RoutePlan {
    const route = view.routesByKey.get(key)
    return route === undefined ? nothing(key) : planRoute(route, view.node, this.#policy)
  }

  async #closeUnwanted({ key, listeners }: RoutePlan): Promise<number> {
    const wantedIds = new Set(listeners.map(({ id }) => id))
    const listening = this.#listeningByKey.get(key) ?? []
    const unwanted = listening.filter(({ id }) => !wantedIds.has(id))
    for (const { id, address } of unwanted) {
      await this.#relay.remove(id)
      this.#keysByAddress.delete(addressText(address))
    }
    this.#note(
      key,
      listening.filter(({ id }) => wantedIds.has(id)),
    )
    return unwanted.length
  }

  async #serve({ key, listeners, problem }: RoutePlan): Promise<readonly Failure[]> {
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

  async #listen(key: RouteKey, planned: PlannedListener): Promise<ListenResult> {
    const { id, protocol, ip, allowedSources, pool } = planned
    const current = this.#listeningByKey.get(key)?.find((listening) => listening.id === id)
    const ports = current === undefined ? this.#ports.candidates(id, planned.ports) : [current.address.port]
    let result: ListenResult | undefined
    for (const port of ports) {
      result = await this.#relay.set({ id, protocol, address: { ip, port }, allowedSources, pool })
      // Another port helps only if it was the port that could not be had.
      if (result.ok || (result.problem !== 'in-use' && result.problem !== 'not-permitted')) return result
    }
    return result ?? { ok: false, problem: 'failed', message: `no port to listen on for ${id}` }
  }

  #noteListening(key: RouteKey, { id, protocol, purpose }: PlannedListener, { ip, port }: SocketAddress): void {
    const address: ServedAddress = { ip, port, protocol, purpose }
    const known = this.#listeningByKey.get(key) ?? []
    if (!known.some((listening) => listening.id === id))
      this.#log.info('route is served', { route: key, purpose, address: hostPort(ip, port) })
    const others = known.filter((listening) => listening.id !== id)
    this.#note(key, [...others, { id, address }])
    this.#keysByAddress.set(addressText(address), key)
    this.#ports.remember(id, port)
  }

  #note(key: RouteKey, listening: readonly Listening[]): void {
    if (listening.length === 0) this.#listeningByKey.delete(key)
    else this.#listeningByKey.set(key, listening)
  }

  #explain(
    { purpose, protocol, ip, ports }: PlannedListener,
    { problem, message }: ListenResult & { ok: false },
  ): string {
    const address = { ip, port: ports[0], protocol }
    const holder = problem === 'in-use' ? this.#keysByAddress.get(addressText(address)) : undefined
    if (holder === undefined) return `${purpose}: ${message}`
    const where = `${hostPort(ip, ports[0])}/${protocol}`
    return `${purpose}: cannot listen on ${where}: ${holder} has it; give one of the two Services another port or address`
  }
}

/** The plan of a route that is gone. */
function nothing(key: RouteKey): RoutePlan {
  return { key, listeners: [], problem: undefined }
}

function addressText({ ip, port, protocol }: Pick<ServedAddress, 'ip' | 'port' | 'protocol'>): string {
  return `${protocol} ${hostPort(ip, port)}`
}
