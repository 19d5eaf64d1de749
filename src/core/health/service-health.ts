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

interface ServiceState extends Omit<HealthCheckPort, 'port'> {
  port: number
  readonly routesByKey: Map<RouteKey, Route>
  /** Distinct addresses of endpoints that are ready and on this node. */
  localEndpoints: number
}

/** One per IP family, like the listeners it answers for. */
export class ServiceHealth {
  readonly #isProxyHealthy: () => boolean
  readonly #stateByService = new Map<ObjectKey, ServiceState>()
  /** To find the Service of a route that is gone from the view. */
  readonly #stateByRoute = new Map<RouteKey, ServiceState>()

  /** Without a health server, pass `() => true`: nobody can say that the proxy is unhealthy. */
  constructor({ isProxyHealthy }: { readonly isProxyHealthy: () => boolean }) {
    this.#isProxyHealthy = isProxyHealthy
  }

  /** Takes over what a sync has programmed; looks at the changed routes only. */
  update(view: NodeView, change: Change): void {
    if (change.full) {
      this.#stateByService.clear()
      this.#stateByRoute.clear()
    }
    const touched = new Set<ServiceState>()
    for (const key of change.full ? view.routesByKey.keys() : change.keys) {
      this.#forget(key, touched)
      this.#remember(key, view.routesByKey.get(key), touched)
    }
    for (const state of touched) this.#recount(state)
  }

  desiredHealthPorts(): readonly HealthCheckPort[] {
    return [...this.#stateByService.values()].map(({ service, namespace, name, port }) => ({
      service,
      namespace,
      name,
      port,
    }))
  }

  /** Undefined when the Service has no health-check port (any more). */
  answer(service: ObjectKey): ServiceHealthAnswer | undefined {
    const state = this.#stateByService.get(service)
    if (state === undefined) return undefined
    const isProxyHealthy = this.#isProxyHealthy()
    return {
      status: state.localEndpoints > 0 && isProxyHealthy ? 200 : 503,
      headers: {
        'Content-Type': 'application/json',
        'X-Content-Type-Options': 'nosniff',
        'X-Load-Balancing-Endpoint-Weight': String(state.localEndpoints),
      },
      body: renderBody(state, isProxyHealthy),
    }
  }

  #forget(key: RouteKey, touched: Set<ServiceState>): void {
    const state = this.#stateByRoute.get(key)
    if (state === undefined) return
    this.#stateByRoute.delete(key)
    state.routesByKey.delete(key)
    touched.add(state)
  }

  #remember(key: RouteKey, route: Route | undefined, touched: Set<ServiceState>): void {
    if (route?.healthCheckNodePort === undefined) return
    const { namespace, name, healthCheckNodePort: port } = route
    const service = objectKey(route)
    let state = this.#stateByService.get(service)
    if (state === undefined) {
      state = { service, namespace, name, port, routesByKey: new Map(), localEndpoints: 0 }
      this.#stateByService.set(service, state)
    }
    state.port = port
    state.routesByKey.set(key, route)
    this.#stateByRoute.set(key, state)
    touched.add(state)
  }

  #recount(state: ServiceState): void {
    if (state.routesByKey.size === 0) this.#stateByService.delete(state.service)
    else state.localEndpoints = countLocalReady(state.routesByKey.values())
  }
}

/** A pod behind several ports counts once; one that is terminating does not count, though it may still serve. */
export function countLocalReady(routes: Iterable<Route>): number {
  const ips = new Set<string>()
  for (const { endpoints } of routes)
    for (const endpoint of endpoints) if (endpoint.isLocal && endpoint.ready) ips.add(endpoint.ip)
  return ips.size
}

/** Indented with tabs and without a final newline, byte for byte what kube-proxy sends. */
function renderBody({ namespace, name, localEndpoints }: ServiceState, serviceProxyHealthy: boolean): string {
  return JSON.stringify({ service: { namespace, name }, localEndpoints, serviceProxyHealthy }, undefined, '\t')
}
