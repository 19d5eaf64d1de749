/**
 * What the health-check node ports answer for Services with externalTrafficPolicy Local: cloud load balancers send
 * traffic to the nodes that have a local endpoint, weighted by how many.
 */
import { objectKey } from '../../api/records.ts'
import type { ObjectKey } from '../../api/records.ts'
import type { Change, NodeView } from '../backend.ts'
import type { Route, RouteKey } from '../route.ts'

/** A port that must be listened on, on behalf of one Service. */
export interface HealthCheckPort {
  readonly service: ObjectKey
  readonly namespace: string
  readonly name: string
  readonly port: number
}

export interface ServiceHealthAnswer {
  readonly status: 200 | 503
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

interface ServiceState {
  readonly routesByKey: Map<RouteKey, Route>
  /** Distinct addresses of endpoints that are ready and on this node. */
  localEndpoints: number
}

/** One per IP family, like the listeners it answers for. */
export class ServiceHealth {
  readonly #isProxyHealthy: () => boolean
  readonly #stateByService = new Map<ObjectKey, ServiceState>()
  /** To find the Service of a route that is gone from the view. */
  readonly #serviceByRoute = new Map<RouteKey, ObjectKey>()

  /** Without a health server, pass `() => true`: nobody can say that the proxy is unhealthy. */
  constructor({ isProxyHealthy }: { readonly isProxyHealthy: () => boolean }) {
    this.#isProxyHealthy = isProxyHealthy
  }

  /** Takes over what a sync has programmed; looks at the changed routes only. */
  update(view: NodeView, change: Change): void {
    if (change.full) {
      this.#stateByService.clear()
      this.#serviceByRoute.clear()
    }
    const touched = new Set<ObjectKey>()
    for (const key of change.full ? view.routesByKey.keys() : change.keys) {
      const before = this.#forget(key)
      const after = this.#remember(key, view.routesByKey.get(key))
      if (before !== undefined) touched.add(before)
      if (after !== undefined) touched.add(after)
    }
    for (const service of touched) this.#recount(service)
  }

  desiredHealthPorts(): readonly HealthCheckPort[] {
    return [...this.#stateByService].flatMap(([service, { routesByKey }]) => {
      const [route] = routesByKey.values()
      if (route === undefined) return []
      return [{ service, namespace: route.namespace, name: route.name, port: route.healthCheckNodePort }]
    })
  }

  /** Undefined when the Service has no health-check port (any more). */
  answer(service: ObjectKey): ServiceHealthAnswer | undefined {
    const state = this.#stateByService.get(service)
    const [route] = state?.routesByKey.values() ?? []
    if (state === undefined || route === undefined) return undefined
    const isProxyHealthy = this.#isProxyHealthy()
    return {
      status: state.localEndpoints > 0 && isProxyHealthy ? 200 : 503,
      headers: {
        'Content-Type': 'application/json',
        'X-Content-Type-Options': 'nosniff',
        'X-Load-Balancing-Endpoint-Weight': String(state.localEndpoints),
      },
      body: renderBody(route, state.localEndpoints, isProxyHealthy),
    }
  }

  #forget(key: RouteKey): ObjectKey | undefined {
    const service = this.#serviceByRoute.get(key)
    if (service === undefined) return undefined
    this.#serviceByRoute.delete(key)
    this.#stateByService.get(service)?.routesByKey.delete(key)
    return service
  }

  #remember(key: RouteKey, route: Route | undefined): ObjectKey | undefined {
    if (route === undefined || route.healthCheckNodePort === 0) return undefined
    const service = objectKey(route)
    const state = this.#stateByService.get(service) ?? { routesByKey: new Map<RouteKey, Route>(), localEndpoints: 0 }
    this.#stateByService.set(service, state)
    state.routesByKey.set(key, route)
    this.#serviceByRoute.set(key, service)
    return service
  }

  #recount(service: ObjectKey): void {
    const state = this.#stateByService.get(service)
    if (state === undefined) return
    if (state.routesByKey.size === 0) this.#stateByService.delete(service)
    else state.localEndpoints = countLocalReady(state.routesByKey.values())
  }
}

/** A pod behind several ports counts once; one that is terminating does not count, though it may still serve. */
function countLocalReady(routes: Iterable<Route>): number {
  const ips = new Set<string>()
  for (const { endpoints } of routes)
    for (const endpoint of endpoints) if (endpoint.isLocal && endpoint.ready) ips.add(endpoint.ip)
  return ips.size
}

/** Indented with tabs and without a final newline, byte for byte what kube-proxy sends. */
function renderBody({ namespace, name }: Route, localEndpoints: number, serviceProxyHealthy: boolean): string {
  return JSON.stringify({ service: { namespace, name }, localEndpoints, serviceProxyHealthy }, undefined, '\t')
}
