import type { JsonObject } from './json-reader.ts'
import type { ServiceRecord, WindowsWishes } from './records.ts'

/**
 * Returns no field for a Service without such annotations, which is nearly every one. Any other value means nothing and
 * is no problem either: the annotations are not ours, and kube-proxy compares them just so.
 */
export function parseWindows(annotations: JsonObject): Pick<ServiceRecord, 'windows'> {
  const preservesDestination = annotations['preserve-destination'] === 'true'
  const optimization = annotations['winProxyOptimization']
  const rebuilds = typeof optimization === 'string' && optimization.toLowerCase() === 'disabled'
  if (!preservesDestination && !rebuilds) return {}
  const windows: WindowsWishes = {
    ...(preservesDestination && { preservesDestination }),
    ...(rebuilds && { rebuilds }),
  }
  return { windows }
}
