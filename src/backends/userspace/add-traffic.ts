import type { RouteTraffic } from '../../core/backend.ts'

/** What several listeners have carried together. */
export function addTraffic(...parts: readonly (RouteTraffic | undefined)[]): RouteTraffic {
  const total = { connections: 0, active: 0, bytesIn: 0, bytesOut: 0, dialFailures: 0, seconds: 0 }
  for (const part of parts)
    if (part !== undefined) for (const name of Object.keys(total) as (keyof RouteTraffic)[]) total[name] += part[name]
  return total
}
