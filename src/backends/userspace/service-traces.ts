/**
 * The trace of a sync, Service by Service, with the names that the userspace mode has always had in traces. Only routes
 * that have changed since the last sync are in it. Rules are written for all Services at once, so what opens and closes
 * portals lasts until that is done, and fails with it.
 */
import type { NodeView, SyncReport } from '../../core/backend.ts'
import { routeName } from '../../core/route.ts'
import type { Entrance, Route, RouteKey } from '../../core/route.ts'
import { noSpan } from '../../core/trace.ts'
import type { Span } from '../../core/trace.ts'
import type { PlannedListener, RoutePlan } from './plan.ts'
import type { Listening, RouteListeners } from './route-listeners.ts'

type Failures = SyncReport['failed']

/** Remembers what the last sync was to serve, to tell what is new. */
export class ServiceTraces {
  readonly #routesByKey = new Map<RouteKey, Route>()

  begin(sync: Span, view: NodeView, listeners: RouteListeners): SyncTrace {
    return new SyncTrace(
      sync,
      (key) => ({ before: this.#routesByKey.get(key), after: view.routesByKey.get(key) }),
      listeners,
    )
  }

  /** The sync has succeeded. */
  note(keys: readonly RouteKey[], { routesByKey }: NodeView): void {
    for (const key of keys) {
      const route = routesByKey.get(key)
      if (route === undefined) this.#routesByKey.delete(key)
      else this.#routesByKey.set(key, route)
    }
  }
}

interface RouteChange {
  readonly before: Route | undefined
  readonly after: Route | undefined
}

interface ServicePart {
  readonly span: Span
  readonly ports: Set<RouteKey>
  changed: boolean
}

export class SyncTrace {
  readonly #sync: Span
  readonly #changeOf: (key: RouteKey) => RouteChange
  readonly #listeners: RouteListeners
  readonly #merged = new Map<string, ServicePart>()
  readonly #unmerged = new Map<string, ServicePart>()

  constructor(sync: Span, changeOf: (key: RouteKey) => RouteChange, listeners: RouteListeners) {
    this.#sync = sync
    this.#changeOf = changeOf
    this.#listeners = listeners
  }

  /** Opens listeners for the route, or gives those that are there their endpoints. */
  async serving(plan: RoutePlan, work: () => Promise<Failures>): Promise<Failures> {
    const part = this.#partOf(plan.key)
    const route = this.#changeOf(plan.key).after
    if (part === undefined || route === undefined) return work()
    if (plan.problem !== undefined) part.span.set({ skipped: plan.problem })
    // Node ports behind portals only keep others away; `openNodePort` tells of them.
    const opening = this.#missing(plan).filter(({ purpose }) => purpose !== 'node-port' || !hasProxyPort(plan))
    if (opening.length === 0) return work()
    part.changed = true
    const spans = opening.map(({ id, protocol }) => ({
      id,
      span: part.span.child('addServiceOnPortInternal', { service_port: routeName(route), protocol }),
    }))
    const balancer = this.newBalancer(plan.key)
    try {
      const failed = await work()
      for (const { id, span } of spans) this.#endOpening(span, this.#listening(plan.key, id), failed, plan.key)
      return failed
    } catch (error) {
      for (const { span } of spans) span.end(error)
      throw error
    } finally {
      balancer.end()
    }
  }

  /** The route gets endpoints to choose from. */
  newBalancer(key: RouteKey): Span {
    const seconds = this.#changeOf(key).after?.affinitySeconds ?? 0
    return (
      this.#partOf(key)?.span.child('LoadBalancerRR.NewService', {
        'affinity.type': seconds > 0 ? 'ClientIP' : 'None',
        'affinity.ttl_s': seconds,
      }) ?? noSpan
    )
  }

  /** Writes the rules of all routes at once. */
  async writing<T extends { readonly report: SyncReport }>(
    keys: readonly RouteKey[],
    rulesOf: (route: Route, entrance: Entrance) => number,
    write: () => Promise<T>,
  ): Promise<T> {
    const portals = keys.flatMap((key) => this.#beginPortals(key, rulesOf))
    const end = (failureOf: (key: RouteKey) => unknown) => {
      for (const { key, spans } of portals) for (const span of spans) span.end(failureOf(key))
    }
    try {
      const written = await write()
      const reasons = new Map(written.report.failed.map(({ key, reason }) => [key, reason]))
      end((key) => reasons.get(key))
      return written
    } catch (error) {
      end(() => error)
      throw error
    }
  }

  /** Closes what the plan does not have. */
  async stopping(plan: RoutePlan, work: () => Promise<number>): Promise<number> {
    const part = this.#partOf(plan.key)
    const unwanted = part === undefined ? [] : this.#unwanted(plan)
    if (part === undefined || unwanted.length === 0) return work()
    part.changed = true
    const spans = unwanted.map(({ address }) =>
      part.span.child('stopProxy', {
        'proxy.port': address.port,
        'connections.left': this.#listeners.openConnections(plan.key),
      }),
    )
    try {
      const closed = await work()
      for (const span of spans) span.end()
      return closed
    } catch (error) {
      for (const span of spans) span.end(error)
      throw error
    }
  }

  /** Addresses that sockets are to have: a span for each, until `end`. */
  beginServicePortals(plan: RoutePlan): readonly ServicePortal[] {
    const part = this.#partOf(plan.key)
    const route = this.#changeOf(plan.key).after
    if (part === undefined) return []
    if (plan.problem !== undefined) part.span.set({ skipped: plan.problem })
    const opened = this.#missing(plan).map(({ id, ip, ports, protocol }) => ({
      ip,
      opens: true,
      span: part.span.child('addServicePortPortal', {
        service_port: route && routeName(route),
        'portal.ip': ip,
        'portal.port': ports[0],
        protocol,
      }),
      end: (span: Span, failure: string | undefined) => {
        const listening = this.#listening(plan.key, id)
        if (listening !== undefined) span.end()
        else if (failure !== undefined) span.end(failure)
        else {
          // Windows takes its time; it is served as soon as the address can be used.
          span.set({ waiting: true })
          span.end()
        }
      },
    }))
    const closed = this.#unwanted(plan).map(({ address: { ip, port, protocol } }) => ({
      ip,
      opens: false,
      span: part.span.child('closeServicePortPortal', { 'portal.ip': ip, 'portal.port': port, protocol }),
      end: (span: Span, failure: string | undefined) => span.end(failure),
    }))
    if (opened.length + closed.length > 0) part.changed = true
    if (opened.length > 0) this.newBalancer(plan.key).end()
    return [...opened, ...closed]
  }

  end(error?: unknown): void {
    for (const { span, ports, changed } of this.#merged.values()) {
      span.set({ ports: ports.size, changed })
      span.end(error)
    }
    for (const { span, ports } of this.#unmerged.values()) {
      span.set({ 'ports.removed': ports.size })
      span.end(error)
    }
  }

  /** Undefined for a route that is as it was, and where nobody records. */
  #partOf(key: RouteKey): ServicePart | undefined {
    const { before, after } = this.#changeOf(key)
    const route = after ?? before
    if (before === after || route === undefined || !this.#sync.isRecorded) return undefined
    const [parts, name] = after === undefined ? [this.#unmerged, 'unmergeService'] : [this.#merged, 'mergeService']
    const service = `${route.namespace}/${route.name}`
    let part = parts.get(service)
    if (part === undefined) {
      part = { span: this.#sync.child(name, { service }), ports: new Set(), changed: false }
      parts.set(service, part)
    }
    part.ports.add(key)
    return part.span.isRecorded ? part : undefined
  }

  #beginPortals(key: RouteKey, rulesOf: (route: Route, entrance: Entrance) => number): readonly OpenPortal[] {
    const part = this.#partOf(key)
    if (part === undefined) return []
    const { before, after } = this.#changeOf(key)
    const [old, wanted] = [textsOf(before), textsOf(after)]
    const closing = (before?.entrances ?? []).filter((entrance) => !wanted.has(textOf(entrance)))
    const opening = (after?.entrances ?? []).filter((entrance) => !old.has(textOf(entrance)))
    const spans: Span[] = []
    if (closing.length > 0 && before !== undefined) {
      const portal = part.span.child('closePortal', { service_port: routeName(before) })
      for (const entrance of closing)
        spans.push(
          entrance.kind === 'node-port'
            ? portal.child('closeNodePort', { node_port: entrance.port })
            : portal.child('closeOnePortal', addressOf(entrance)),
        )
      spans.push(portal)
    }
    if (opening.length > 0 && after !== undefined) {
      const portal = part.span.child('openPortal', { service_port: routeName(after) })
      for (const entrance of opening) {
        const rules = { 'rules.added': rulesOf(after, entrance) }
        spans.push(
          entrance.kind === 'node-port'
            ? portal.child('openNodePort', { node_port: entrance.port, claim: true, ...rules })
            : portal.child('openOnePortal', { ...addressOf(entrance), claim: false, ...rules }),
        )
      }
      spans.push(portal)
    }
    if (spans.length > 0) part.changed = true
    return [{ key, spans }]
  }

  #missing({ key, listeners }: RoutePlan): readonly PlannedListener[] {
    const there = new Set(this.#listeners.of(key).map(({ id }) => id))
    return listeners.filter(({ id }) => !there.has(id))
  }

  #unwanted({ key, listeners }: RoutePlan): readonly Listening[] {
    const wanted = new Set(listeners.map(({ id }) => id))
    return this.#listeners.of(key).filter(({ id }) => !wanted.has(id))
  }

  #listening(key: RouteKey, id: string): Listening | undefined {
    return this.#listeners.of(key).find((listening) => listening.id === id)
  }

  #endOpening(span: Span, listening: Listening | undefined, failed: Failures, key: RouteKey): void {
    if (listening !== undefined) {
      span.set({ 'proxy.port': listening.address.port })
      return span.end()
    }
    const error = failed.find((failure) => failure.key === key)?.reason
    span.set({ error })
    span.end(error)
  }
}

interface OpenPortal {
  readonly key: RouteKey
  /** Children before their parents. */
  readonly spans: readonly Span[]
}

/** A socket at an address of a Service that comes or goes. */
export interface ServicePortal {
  readonly ip: string
  readonly opens: boolean
  readonly span: Span
  readonly end: (span: Span, failure: string | undefined) => void
}

function hasProxyPort({ listeners }: RoutePlan): boolean {
  return listeners.some(({ purpose }) => purpose === 'proxy-port')
}

function addressOf({ kind, ip, port }: Exclude<Entrance, { readonly kind: 'node-port' }>) {
  return { 'portal.ip': ip, 'portal.port': port, 'portal.external': kind !== 'cluster-ip' }
}

function textsOf(route: Route | undefined): ReadonlySet<string> {
  return new Set(route?.entrances.map(textOf))
}

/** All that the rules of an entrance depend on; its endpoints are none of it. */
function textOf(entrance: Entrance): string {
  const { kind, port, inside, outside, allowed } = entrance
  const ip = kind === 'node-port' ? '' : entrance.ip
  return [kind, ip, port, inside.policy, outside.policy, JSON.stringify(allowed)].join(' ')
}
