/** Programs one IP family: rules lead from the addresses of Services to proxy ports, and a relay listens there. */
import type { Backend, Change, Comparison, NodeView, RenderedPart, SyncReport } from '../../../core/backend.ts'
import { inspectPieces } from '../../../core/inspect-pieces.ts'
import type { Look } from '../../../core/inspect-pieces.ts'
import type { Inspection, PlannedPiece } from '../../../core/inspection.ts'
import type { Logger } from '../../../core/logger.ts'
import type { Entrance, Route, RouteKey } from '../../../core/route.ts'
import type { Span } from '../../../core/trace.ts'
import type { RouteTraffic } from '../../../core/traffic.ts'
import { Programming } from '../../../core/sync/programming.ts'
import type { Programmed, SyncTask } from '../../../core/sync/programming.ts'
import { isSameData } from '../../../core/same-data.ts'
import { readKernelState } from '../../../dataplane/iptables/language/kernel-state.ts'
import { isRefusal } from '../../../dataplane/iptables/language/refused-routes.ts'
import { rulePieces, rulesLook } from '../../../dataplane/iptables/language/rule-pieces.ts'
import type { Relay } from '../../../dataplane/relay/relay.ts'
import { hostPort } from '../../../net/ip.ts'
import type { RoutePlan } from '../plan.ts'
import type { FreePorts } from '../free-ports.ts'
import { planOfNothing, RouteListeners } from '../route-listeners.ts'
import { findPortalDrift } from './find-drift.ts'
import { fullInput } from './full-input.ts'
import { KernelPortals } from './kernel-portals.ts'
import type { KernelPortalsOptions, WantedPortals } from './kernel-portals.ts'
import { nextTurn } from '../../../dataplane/next-turn.ts'
import { keepsSomebody } from './doors.ts'
import { planListeners, portsOf } from './plan-listeners.ts'
import { planPortal } from './plan.ts'
import type { PlannedPortal, PortalPlan } from './plan.ts'
import { entranceRules } from './portal-rules.ts'
import { ServiceTraces } from '../service-traces.ts'
import type { SyncTrace } from '../service-traces.ts'
import type { PortalSettings } from './settings.ts'
import type { Preparation, Transparency } from './transparency.ts'
import { UdpPortals } from './udp-portals.ts'

export interface PortalBackendOptions extends Omit<KernelPortalsOptions, 'steps'> {
  readonly relay: Relay
  /** For proxy ports. */
  readonly freePorts: FreePorts
  /** As they are now, when these routes have changed. */
  readonly settings: (view: NodeView, keys: readonly RouteKey[]) => PortalSettings
  /** The port that a listener had in the process that handed it over. */
  readonly portBefore?: (id: string) => number | undefined
  /** Another process listens behind the rules. */
  readonly leavesRules?: () => boolean
  /** Belongs to the caller: it must outlive the connections. */
  readonly transparency: Transparency
  readonly log: Logger
}

/** Routes that are served before others get a turn on the event loop. */
const batchSize = 50

/** Long enough for a busy machine, and shorter than those who stop us wait. */
const removalTimeoutMs = 10_000

type Write = (wanted: WantedPortals) => Promise<Programmed<PortalPlan>>

interface Step {
  readonly keys: readonly RouteKey[]
  readonly settings: PortalSettings
  readonly write: Write
}

export class PortalBackend implements Backend {
  readonly name = 'userspace'
  /** Where UDP flows may lead. */
  readonly udp = new UdpPortals()
  readonly #options: PortalBackendOptions
  readonly #listeners: RouteListeners
  readonly #kernel: KernelPortals
  readonly #traces = new ServiceTraces()
  readonly #programming: Programming<SyncTask, PortalPlan>

  constructor(options: PortalBackendOptions) {
    this.#options = options
    this.#listeners = new RouteListeners({
      relay: options.relay,
      freePorts: options.freePorts,
      ...(options.portBefore && { portBefore: options.portBefore }),
      onOpened: (key, { purpose, ip, port }) =>
        options.log.debug(2, 'route is served', { route: key, purpose, address: hostPort(ip, port) }),
    })
    this.#programming = new Programming<SyncTask, PortalPlan>({
      edit: ({ plan }, task, signal) => this.#edit(plan, task, signal),
      rewrite: (task, _known, signal) => this.#rewrite(task, signal),
      isRefusal,
    })
    this.#kernel = new KernelPortals({ ...options, steps: this.#programming.steps })
  }

  sync(view: NodeView, change: Change, signal: AbortSignal, span?: Span): Promise<SyncReport> {
    return this.#programming.sync({ view, change }, signal, span)
  }

  async watch(onDrift: (found: string) => void, signal: AbortSignal): Promise<void> {
    await this.#options.drift?.run(this.#programming, onDrift, signal)
  }

  traffic(_signal: AbortSignal, keys?: ReadonlySet<RouteKey>): Promise<ReadonlyMap<RouteKey, RouteTraffic>> {
    return Promise.resolve(this.#listeners.traffic(keys))
  }

  pieces(key: RouteKey): Promise<readonly PlannedPiece[] | undefined> {
    return this.#programming.withWritten((plan) => this.#looksAt(plan, key)?.flatMap(({ pieces }) => pieces))
  }

  inspect(key: RouteKey, signal: AbortSignal): Promise<Inspection | undefined> {
    return this.#programming.look((plan) => {
      const looks = this.#looksAt(plan, key)
      return looks && inspectPieces(looks, signal)
    })
  }

  compare(signal: AbortSignal): Promise<Comparison> {
    const { iptables, transparency } = this.#options
    return this.#programming.compare(async (plan) => {
      const state = await readKernelState(iptables, signal)
      return (await findPortalDrift(plan, state)) ?? transparency.findDrift(state)
    })
  }

  rendered(): Promise<readonly RenderedPart[] | undefined> {
    return this.#programming.withWritten((plan) => [
      { part: 'iptables', text: fullInput(plan, { filter: new Map(), nat: new Map() }).render() },
      { part: 'listeners', text: this.#listeners.rendered() },
    ])
  }

  /** Unlike in other modes the rules go: without a relay behind them they lead to whoever has the port next. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#programming.inTurn(async () => {
      try {
        if (this.#options.leavesRules?.() !== true) await this.#kernel.remove(AbortSignal.timeout(removalTimeoutMs))
      } catch (error) {
        this.#options.log.warn('could not remove the portals, which now lead nowhere: run fairlead --cleanup', {
          error,
        })
      }
      await this.#listeners.closeAll()
    })
  }

  #looksAt(plan: PortalPlan, key: RouteKey): readonly Look[] | undefined {
    const portal = plan.portalsByKey.get(key)
    if (portal === undefined) return undefined
    const rules = rulesLook(rulePieces(portal.rendered, plan.settings.family), this.#options.iptables)
    // There are none for what the mode cannot serve.
    const listeners = this.#listeners.look(key)
    return [rules, ...(listeners === undefined ? [] : [listeners])]
  }

  async #edit(
    plan: PortalPlan,
    { view, change }: SyncTask,
    signal: AbortSignal,
  ): Promise<Programmed<PortalPlan> | undefined> {
    if (change.full) return undefined
    // Those that wait for a port may have it now.
    const keys = [...new Set([...change.keys, ...this.#listeners.waiting])]
    const settings = await this.#settings(view, { keys, isFull: false }, signal)
    if (!isSameData(plan.settings, settings)) return undefined
    const write: Write = (wanted) => this.#kernel.edit(plan, wanted, signal)
    return this.#program({ keys, settings, write }, view, signal)
  }

  async #rewrite({ view, change }: SyncTask, signal: AbortSignal): Promise<Programmed<PortalPlan>> {
    // The most important ones first, as far as the change says which they are.
    const keys = [...new Set([...change.keys, ...view.routesByKey.keys(), ...this.#listeners.keys])]
    const settings = await this.#settings(view, { keys, isFull: change.full }, signal)
    const write: Write = (wanted) => this.#kernel.rewrite(wanted, signal)
    return this.#program({ keys, settings, write }, view, signal)
  }

  /** Answers must find back before the first endpoint is dialled from a client's address. */
  async #settings(
    view: NodeView,
    looked: Pick<Preparation, 'keys' | 'isFull'>,
    signal: AbortSignal,
  ): Promise<PortalSettings> {
    const { transparency, settings } = this.#options
    const wanted = settings(view, looked.keys)
    await transparency.prepare(view, { ...looked, keeps: (route) => keepsSomebody(route, wanted) }, signal)
    return { ...wanted, keepsClients: transparency.isOn }
  }

  async #program(step: Step, view: NodeView, signal: AbortSignal): Promise<Programmed<PortalPlan>> {
    const trace = this.#traces.begin(this.#programming.steps.span, view, this.#listeners)
    try {
      const programmed = await this.#programWith(trace, step, view, signal)
      this.#traces.note(step.keys, view)
      trace.end()
      return programmed
    } catch (error) {
      trace.end(error)
      throw error
    }
  }

  /** Listeners first, then rules that lead to them, then what nothing leads to any more goes. */
  async #programWith(
    trace: SyncTrace,
    { keys, settings, write }: Step,
    view: NodeView,
    signal: AbortSignal,
  ): Promise<Programmed<PortalPlan>> {
    const { transparency } = this.#options
    const { steps } = this.#programming
    const plans = steps.plan(
      () => keys.map((key) => planOf(key, view, settings)),
      ({ length }) => ({ routes: length }),
    )
    // Node ports may pass from one route to another. Proxy ports stay until no rule leads to them.
    for (const plan of plans) await this.#listeners.closeUnwanted(plan, ['node-port'])
    const failed = await this.#serve(
      plans.map((plan) => this.#withoutEmptied(plan)),
      trace,
      signal,
    )
    const wanted = { settings, keys, portalOf: (key: RouteKey) => this.#portalOf(key, view, settings) }
    const rulesOf = (route: Route, entrance: Entrance) =>
      entranceRules({ route, ports: portsOf(route, settings, this.#listeners.of(route.key)), settings }, entrance)
        .length
    const { plan, report } = await trace.writing(keys, rulesOf, () => write(wanted))
    const emptied = plans.filter(hasEmptyPool)
    // Clients of endpoints that are gone are forgotten with them.
    await steps.apply(() => this.#serve(emptied, trace, signal), 'cleanupStaleStickySessions', {
      services: emptied.length,
      removed: emptied.filter(({ listeners }) => listeners.some(({ pool }) => pool.affinitySeconds > 0)).length,
    })
    let closed = 0
    for (const unwanted of plans)
      closed += await trace.stopping(unwanted, () => this.#listeners.closeUnwanted(unwanted))
    this.#noteFlows(keys, view)
    await transparency.tidy(signal)
    return {
      plan,
      report: {
        facts: { ...report.facts, listeners: this.#listeners.count, closed },
        failed: [...failed, ...report.failed],
      },
    }
  }

  async #serve(plans: readonly RoutePlan[], trace: SyncTrace, signal: AbortSignal): Promise<SyncReport['failed']> {
    const failed: SyncReport['failed'][number][] = []
    for (const [index, plan] of plans.entries()) {
      signal.throwIfAborted()
      if (index % batchSize === batchSize - 1) await nextTurn()
      failed.push(...(await trace.serving(plan, () => this.#listeners.serve(plan))))
    }
    return failed
  }

  /** A listener that loses its last endpoint keeps it for now: until they are written, rules lead clients there. */
  #withoutEmptied(plan: RoutePlan): RoutePlan {
    if (!hasEmptyPool(plan)) return plan
    const listening = new Set(this.#listeners.of(plan.key).map(({ id }) => id))
    return {
      ...plan,
      listeners: plan.listeners.filter(({ id, pool }) => pool.endpoints.length > 0 || !listening.has(id)),
    }
  }

  #portalOf(key: RouteKey, view: NodeView, settings: PortalSettings): PlannedPortal | undefined {
    const route = view.routesByKey.get(key)
    if (route === undefined) return undefined
    return planPortal(route, portsOf(route, settings, this.#listeners.of(key)), settings)
  }

  #noteFlows(keys: readonly RouteKey[], view: NodeView): void {
    for (const key of keys) {
      const addresses = this.#listeners.of(key).map(({ address }) => address)
      const proxyPorts = addresses.filter(({ protocol, purpose }) => protocol === 'UDP' && purpose === 'proxy-port')
      const route = view.routesByKey.get(key)
      if (route === undefined || proxyPorts.length === 0) this.udp.forget(key)
      else this.udp.note(route, proxyPorts)
    }
  }
}

function hasEmptyPool({ listeners }: RoutePlan): boolean {
  return listeners.some(({ pool }) => pool.endpoints.length === 0)
}

function planOf(key: RouteKey, view: NodeView, settings: PortalSettings): RoutePlan {
  const route = view.routesByKey.get(key)
  return route === undefined ? planOfNothing(key) : planListeners(route, settings)
}
