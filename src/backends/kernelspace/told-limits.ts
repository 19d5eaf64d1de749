/** Says, once for each Service, what HNS cannot do for it. */
import type { Logger } from '../../core/logger.ts'
import type { RouteKey } from '../../core/route.ts'
import type { KernelspaceEdit } from './edit.ts'

export class ToldLimits {
  readonly #log: Logger
  readonly #toldByKey = new Map<RouteKey, string>()

  constructor(log: Logger) {
    this.#log = log
  }

  tell({ keys, mixedKeys, after: { plan } }: KernelspaceEdit): void {
    for (const key of keys) {
      const route = plan.routesByKey.get(key)
      if (route === undefined) {
        this.#toldByKey.delete(key)
        continue
      }
      const limits = [
        ...(route.isOpenToAll ? [sourceRanges] : []),
        ...(route.isSticky && !plan.settings.features.sessionAffinity ? [affinity] : []),
        ...(mixedKeys.has(key) ? [ports] : []),
      ]
      const text = limits.join()
      if (limits.length > 0 && this.#toldByKey.get(key) !== text)
        this.#log.warn('HNS cannot do what a Service asks for', { service: route.name, route: key, limits })
      if (limits.length > 0) this.#toldByKey.set(key, text)
    }
  }
}

const sourceRanges = 'it has no source ranges: everybody may use the load balancer'
const affinity = 'this version does not keep clients with their endpoint'
const ports = 'it has one target port: of endpoints with different ports, the last one decides'
