/** Serves routes with plain sockets: no root, no kernel rules. */
import type { Backend, Change, NodeView, RenderedPart, SyncReport } from '../../core/backend.ts'
import { inspectPieces } from '../../core/inspect-pieces.ts'
import type { Inspection, PlannedPiece } from '../../core/inspection.ts'
import type { Logger } from '../../core/logger.ts'
import { OneAtATime } from '../../core/sync/one-at-a-time.ts'
import type { RouteKey } from '../../core/route.ts'
import { noSpan } from '../../core/trace.ts'
import type { Span } from '../../core/trace.ts'
import type { RouteTraffic } from '../../core/traffic.ts'
import type { Relay } from '../../dataplane/relay/relay.ts'
import { hostPort } from '../../net/ip.ts'
import { planRoute, type ListenPolicy, type RoutePlan } from './plan.ts'
import { planOfNothing, RouteListeners, type ServedAddress } from './route-listeners.ts'
import { ServiceTraces } from './service-traces.ts'
import type { SyncTrace } from './service-traces.ts'

export class UserspaceBackend implements Backend {
  readonly name = 'userspace'
  readonly #policy: ListenPolicy
  readonly #listeners: RouteListeners
  readonly #traces = new ServiceTraces()
  /** A sync, and a look at what it has done, must not see each other half done. */
  readonly #turns = new OneAtATime()

  constructor({ relay, listen, log }: { readonly relay: Relay; readonly listen: ListenPolicy; readonly log: Logger }) {
    this.#policy = listen
    this.#listeners = new RouteListeners({
      relay,

      onOpened: (key, { purpose, ip, port }) =>
        log.info('route is served', { route: key, purpose, address: hostPort(ip, port) }),
    })
  }

  sync(view: NodeView, change: Change, signal: AbortSignal, span: Span = noSpan): Promise<SyncReport> {
    return this.#turns.run(async () => {
      const trace = this.#traces.begin(span, view, this.#listeners)
      try {
        const report = await this.#sync(view, change, trace, signal)
        trace.end()
        return report
      } catch (error) {
        trace.end(error)
        throw error
      }
    })
  }

  pieces(key: RouteKey): Promise<readonly PlannedPiece[] | undefined> {
    return this.#turns.run(async () => this.#listeners.look(key)?.pieces)
  }

  inspect(key: RouteKey, signal: AbortSignal): Promise<Inspection | undefined> {
    return this.#turns.run(async () => {
      const look = this.#listeners.look(key)
      return look && inspectPieces([look], signal)
    })
  }

  rendered(): Promise<readonly RenderedPart[]> {
    return this.#turns.run(async () => [{ part: 'listeners', text: this.#listeners.rendered() }])
  }

  /** Where this route can be reached now; the cluster IP's address comes first. */
  addressesOf(key: RouteKey): readonly ServedAddress[] {
    return this.#listeners.of(key).map(({ address }) => address)
  }

  traffic(_signal: AbortSignal, keys?: ReadonlySet<RouteKey>): Promise<ReadonlyMap<RouteKey, RouteTraffic>> {
    return Promise.resolve(this.#listeners.traffic(keys))
  }

  /** Stops listening. The relay belongs to whoever made it, and so do the connections that are still open in it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#listeners.closeAll()
  }

  async #sync(view: NodeView, change: Change, trace: SyncTrace, signal: AbortSignal): Promise<SyncReport> {
    const plans = this.#keysToLookAt(view, change).map((key) => this.#planOf(key, view))
    // Everything that goes is closed before anything opens: addresses may pass from one route to another.
    let closed = 0
    for (const plan of plans) closed += await trace.stopping(plan, () => this.#listeners.closeUnwanted(plan))
    const failed: SyncReport['failed'][number][] = []
    for (const plan of plans) {
      signal.throwIfAborted()
      failed.push(...(await trace.serving(plan, () => this.#listeners.serve(plan))))
    }
    this.#traces.note(
      plans.map(({ key }) => key),
      view,
    )
    return { facts: { routes: plans.length, closed, listeners: this.#listeners.count }, failed }
  }

  #keysToLookAt(view: NodeView, change: Change): readonly RouteKey[] {
    const { keys, waiting } = this.#listeners
    if (!change.full) return [...new Set([...change.keys, ...waiting])]
    return [...new Set([...keys, ...change.keys, ...view.routesByKey.keys()])]
  }

  #planOf(key: RouteKey, view: NodeView): RoutePlan {
    const route = view.routesByKey.get(key)
    return route === undefined ? planOfNothing(key) : planRoute(route, view.node, this.#policy)
  }
}
