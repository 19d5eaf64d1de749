/** Serves one IP family at the Services' own addresses, which it gives to an interface of a Windows node. */
import type { Backend, Change, Comparison, NodeView, RenderedPart, SyncReport } from '../../../core/backend.ts'
import { inspectPieces } from '../../../core/inspect-pieces.ts'
import type { Look } from '../../../core/inspect-pieces.ts'
import type { Inspection, PlannedPiece } from '../../../core/inspection.ts'
import { nodePortIps } from '../../../core/node/node-port-addresses.ts'
import type { NodePortAddresses } from '../../../core/node/node-port-addresses.ts'
import type { RouteKey } from '../../../core/route.ts'
import type { Span } from '../../../core/trace.ts'
import type { RouteTraffic } from '../../../core/traffic.ts'
import { isSameData } from '../../../core/same-data.ts'
import { OneAtATime } from '../../../core/sync/one-at-a-time.ts'
import { Programming } from '../../../core/sync/programming.ts'
import type { Programmed, SyncTask } from '../../../core/sync/programming.ts'
import { noSuspicion, vagueSuspicion, watchForDrift } from '../../../core/sync/watch-for-drift.ts'
import type { Suspicion } from '../../../core/sync/watch-for-drift.ts'
import { nextTurn } from '../../../dataplane/next-turn.ts'
import type { Relay } from '../../../dataplane/relay/relay.ts'
import { hostPort } from '../../../net/ip.ts'
import type { RoutePlan } from '../plan.ts'
import { planOfNothing, RouteListeners } from '../route-listeners.ts'
import type { ServedAddress } from '../route-listeners.ts'
import { ServiceTraces } from '../service-traces.ts'
import type { ServicePortal, SyncTrace } from '../service-traces.ts'
import { addressesOf, planWindowsRoute } from './plan.ts'
import { ServiceAddresses } from './service-addresses.ts'
import type { ServiceAddressesOptions } from './service-addresses.ts'

export interface WindowsBackendOptions extends Omit<ServiceAddressesOptions, 'onReady' | 'spanOf'> {
  readonly relay: Relay
  /** As of the sync that runs. */
  readonly nodePortAddresses: () => NodePortAddresses
}

/** What was true for all routes when they were planned. */
interface Planned {
  /** Undefined: on all addresses. */
  readonly nodePortIps: readonly string[] | undefined
}

interface Step {
  readonly keys: readonly RouteKey[]
  readonly planned: Planned
  readonly isFull: boolean
}

type Failures = SyncReport['failed']

/** Routes that are served before others get a turn on the event loop. */
const batchSize = 50
/** Long enough for a few hundred addresses, and shorter than those who stop us wait. */
const removalTimeoutMs = 10_000
/** A line of the log need not name hundreds: the record has them all. */
const mostNamed = 10

export class WindowsBackend implements Backend {
  readonly name = 'userspace'
  readonly #options: WindowsBackendOptions
  readonly #listeners: RouteListeners
  readonly #addresses: ServiceAddresses
  readonly #programming: Programming<SyncTask, Planned>
  /** Routes that are not served everywhere yet: an address or a port is missing. */
  readonly #waitingByKey = new Map<RouteKey, RoutePlan>()
  readonly #traces = new ServiceTraces()
  /** Of the sync that runs: who is to tell what is done to an address. */
  readonly #spansByIp = new Map<string, Span>()
  /** While a sync waits for addresses, those that come are served here, in its turn. */
  #arrivals: OneAtATime | undefined

  constructor(options: WindowsBackendOptions) {
    this.#options = options
    this.#addresses = new ServiceAddresses({
      ...options,
      spanOf: (ip) => this.#spansByIp.get(ip) ?? this.#programming.steps.span,
      onReady: (ip) => this.#serveLater(ip),
    })
    this.#listeners = new RouteListeners({
      relay: options.relay,
      onOpened: (key, { purpose, ip, port }) =>
        options.log.debug(2, 'route is served', { route: key, purpose, address: hostPort(ip, port) }),
    })
    this.#programming = new Programming<SyncTask, Planned>({
      edit: ({ plan }, task, signal) => this.#edit(plan, task, signal),
      rewrite: (task, _known, signal) => this.#rewrite(task, signal),
      isRefusal: () => false,
    })
  }

  sync(view: NodeView, change: Change, signal: AbortSignal, span?: Span): Promise<SyncReport> {
    return this.#programming.sync({ view, change }, signal, span)
  }

  watch(onDrift: (found: string) => void, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options
    const addresses = {
      isExact: false,
      suspect: (planned: Planned) => this.#suspect(planned),
      compare: (_: Planned, comparing: AbortSignal) => this.#addresses.findLost(comparing),
    }
    const watch = { parts: [addresses], lost: 'the last sync failed', onFound: onDrift, clock, log }
    return watchForDrift(watch, this.#programming, signal)
  }

  traffic(_signal: AbortSignal, keys?: ReadonlySet<RouteKey>): Promise<ReadonlyMap<RouteKey, RouteTraffic>> {
    return Promise.resolve(this.#listeners.traffic(keys))
  }

  pieces(key: RouteKey): Promise<readonly PlannedPiece[] | undefined> {
    return this.#programming.withWritten(() => this.#looksAt(key)?.flatMap(({ pieces }) => pieces))
  }

  inspect(key: RouteKey, signal: AbortSignal): Promise<Inspection | undefined> {
    return this.#programming.withWritten(() => {
      const looks = this.#looksAt(key)
      return looks && inspectPieces(looks, signal)
    })
  }

  compare(signal: AbortSignal): Promise<Comparison> {
    return this.#programming.compare(() => this.#addresses.findLost(signal))
  }

  rendered(): Promise<readonly RenderedPart[] | undefined> {
    return this.#programming.withWritten(() => [
      { part: 'netsh', text: this.#addresses.rendered() },
      { part: 'listeners', text: this.#listeners.rendered() },
    ])
  }

  /** Where this route can be reached now. */
  addressesOf(key: RouteKey): readonly ServedAddress[] {
    return this.#listeners.of(key).map(({ address }) => address)
  }

  /** The addresses go with the listeners: nobody answers there any more. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#programming.inTurn(async () => {
      this.#waitingByKey.clear()
      await this.#listeners.closeAll()
      await this.#removeAddresses()
    })
  }

  #looksAt(key: RouteKey): readonly Look[] | undefined {
    const listeners = this.#listeners.look(key)
    return listeners && [this.#addresses.lookFor(key), listeners]
  }

  async #removeAddresses(): Promise<void> {
    const { clock, log, netsh } = this.#options
    const [tooLong, done] = [new AbortController(), new AbortController()]
    const stop = () => tooLong.abort(new Error(`removing them took longer than ${removalTimeoutMs / 1000} s`))
    clock.sleep(removalTimeoutMs, done.signal).then(stop, () => {})
    const { ips, reason } = await this.#addresses.removeAll(tooLong.signal).finally(() => done.abort())
    if (ips.length === 0) return
    log.warn('could not remove addresses of Services, which lead nowhere: run fairlead --cleanup', {
      interface: netsh.interfaceName,
      addresses: ips.slice(0, mostNamed),
      others: Math.max(0, ips.length - mostNamed),
      reason,
    })
  }

  async #edit(
    planned: Planned,
    { view, change }: SyncTask,
    signal: AbortSignal,
  ): Promise<Programmed<Planned> | undefined> {
    if (change.full || !isSameData(planned, this.#planned())) return undefined
    const keys = [...new Set([...change.keys, ...this.#waitingByKey.keys()])]
    return { plan: planned, report: await this.#program({ keys, planned, isFull: false }, view, signal) }
  }

  async #rewrite({ view, change }: SyncTask, signal: AbortSignal): Promise<Programmed<Planned>> {
    const planned = this.#planned()
    const all = [...change.keys, ...view.routesByKey.keys(), ...this.#listeners.keys, ...this.#addresses.owners]
    const step = { keys: [...new Set(all)], planned, isFull: true }
    return { plan: planned, report: await this.#program(step, view, signal) }
  }

  async #program(step: Step, view: NodeView, signal: AbortSignal): Promise<SyncReport> {
    const { steps } = this.#programming
    const plans = steps.plan(
      () => step.keys.map((key) => planOf(key, view, step.planned)),
      ({ length }) => ({ routes: length }),
    )
    const trace = this.#traces.begin(steps.span, view, this.#listeners)
    const portals = plans.flatMap((plan) => trace.beginServicePortals(plan))
    for (const { ip, span } of portals) if (!this.#spansByIp.has(ip)) this.#spansByIp.set(ip, span)
    try {
      const report = await this.#programAll(plans, step, { trace, portals }, signal)
      this.#traces.note(step.keys, view)
      for (const { ip, span, end } of portals) end(span, this.#addresses.failureOf(ip))
      trace.end()
      return report
    } catch (error) {
      trace.end(error)
      throw error
    } finally {
      this.#spansByIp.clear()
    }
  }

  /** What goes is closed before anything opens: addresses and ports may pass from one route to another. */
  async #programAll(
    plans: readonly RoutePlan[],
    { isFull }: Step,
    { trace, portals }: { readonly trace: SyncTrace; readonly portals: readonly ServicePortal[] },
    signal: AbortSignal,
  ): Promise<SyncReport> {
    for (const { key, listeners } of plans) this.#addresses.assign(key, addressesOf(listeners))
    let lookFailure: unknown
    // Node ports, and addresses that are there for sure, are served in any case.
    if (isFull) await this.#addresses.look(signal).catch((error: unknown) => (lookFailure = error))
    for (const { ip, span, opens } of portals) if (opens) span.set({ 'ip.existed': this.#addresses.isReady(ip) })
    let closed = 0
    for (const plan of plans) {
      closed += await trace.stopping(plan, () => this.#listeners.closeUnwanted(plan))
      // Windows may not revive a socket whose address was gone for a while.
      closed += await this.#listeners.closeUnless(plan.key, ({ address }) => this.#hasAddress(address))
    }
    const pursuit = this.#addresses.pursue(signal)
    pursuit.catch(() => {}) // Serving may fail first.
    await this.#serveAll(plans, signal)
    await this.#serveArrivalsDuring(pursuit)
    const unserved = plans.filter(({ key, problem }) => problem !== undefined || this.#waitingByKey.has(key))
    const failed = await this.#serveAll(unserved, signal)
    if (lookFailure !== undefined) throw lookFailure
    const facts = { routes: plans.length, closed, listeners: this.#listeners.count, waiting: this.#waitingByKey.size }
    return { facts, failed }
  }

  /** An address that is ready does not wait for one that is not. */
  async #serveArrivalsDuring(pursuit: Promise<void>): Promise<void> {
    const arrivals = (this.#arrivals = new OneAtATime())
    const early = arrivals.run(() => this.#serveWaiting([...this.#waitingByKey.keys()]))
    try {
      await Promise.all([early, pursuit])
    } finally {
      this.#arrivals = undefined
      await arrivals.run(() => Promise.resolve())
    }
  }

  async #serveAll(plans: readonly RoutePlan[], signal: AbortSignal): Promise<Failures> {
    const failed: Failures[number][] = []
    for (const [index, plan] of plans.entries()) {
      signal.throwIfAborted()
      if (index % batchSize === batchSize - 1) await nextTurn()
      failed.push(...(await this.#serve(plan)))
    }
    return failed
  }

  async #serve(plan: RoutePlan): Promise<Failures> {
    const { key, problem } = plan
    const servable = this.#servable(plan)
    const unheard = await this.#listeners.serve(servable)
    const unready = plan.listeners.filter((listener) => !servable.listeners.includes(listener))
    if (problem === undefined && unheard.length + unready.length > 0) this.#waitingByKey.set(key, plan)
    else this.#waitingByKey.delete(key)
    const homeless = unready.flatMap(({ purpose, ip }) => {
      const reason = this.#addresses.failureOf(ip)
      return reason === undefined ? [] : { key, reason: `${purpose}: ${reason}` } // Or it is on its way.
    })
    return [...unheard, ...homeless]
  }

  /** Without what has no address yet, or no more. */
  #servable(plan: RoutePlan): RoutePlan {
    return { ...plan, listeners: plan.listeners.filter((listener) => this.#hasAddress(listener)) }
  }

  #hasAddress({ purpose, ip }: Pick<ServedAddress, 'purpose' | 'ip'>): boolean {
    return purpose === 'node-port' || this.#addresses.isReady(ip)
  }

  #serveLater(ip: string): void {
    const serve = () => this.#serveWaiting([...this.#addresses.ownersOf(ip)])
    const serving = this.#arrivals === undefined ? this.#programming.inTurn(serve) : this.#arrivals.run(serve)
    serving.catch((error: unknown) =>
      this.#options.log.warn('an address was added, but could not be listened on; it is tried again', {
        address: ip,
        error,
      }),
    )
  }

  async #serveWaiting(keys: readonly RouteKey[]): Promise<void> {
    for (const key of keys) {
      const plan = this.#waitingByKey.get(key)
      if (plan !== undefined) await this.#serve(plan)
    }
  }

  /** Ports that others had, and addresses that could not be added, are tried again here: no sync may come for long. */
  async #suspect(planned: Planned): Promise<Suspicion<string>> {
    await this.#serveWaiting([...this.#waitingByKey.keys()])
    this.#addresses.retryFailed()
    if (!isSameData(planned, this.#planned())) {
      const finding = 'node ports are to be open on other addresses, because those of this machine have changed'
      return { kind: 'certain', finding }
    }
    return this.#addresses.mayHaveLostOne() ? vagueSuspicion : noSuspicion
  }

  #planned(): Planned {
    const { localIps } = this.#options
    const addresses = this.#options.nodePortAddresses()
    if (addresses.matchesAll) return { nodePortIps: undefined }
    const ofNode = localIps().filter((ip) => !this.#addresses.isOurs(ip))
    return { nodePortIps: nodePortIps(addresses, ofNode, () => true) }
  }
}

function planOf(key: RouteKey, view: NodeView, { nodePortIps: ips }: Planned): RoutePlan {
  const route = view.routesByKey.get(key)
  return route === undefined ? planOfNothing(key) : planWindowsRoute(route, view.node, ips)
}
