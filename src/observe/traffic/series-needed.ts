import type { NodeView } from '../../core/backend.ts'

/** How many things have series of their own: Service ports alone, and together with their endpoints. */
export function seriesNeeded(views: readonly NodeView[]): { readonly services: number; readonly endpoints: number } {
  let [services, endpoints] = [0, 0]
  for (const { routesByKey } of views) {
    services += routesByKey.size
    for (const { reachableEndpoints } of routesByKey.values()) endpoints += reachableEndpoints.length
  }
  return { services, endpoints: services + endpoints }
}
