/** What somebody may have meant who named a Service that is not there. */
import { nearestName } from '../net/nearest-name.ts'
import type { Catalog } from './catalog.ts'

/** Comparing names takes time, and everybody on the node may ask. */
const mostCompared = 500

export interface NearServices {
  /** Namespaces that have a Service of this name. */
  readonly namespaces: readonly string[]
  /** In the namespace that was named. */
  readonly nearestName: string | undefined
  /** The namespace that was named has no Services at all. */
  readonly isEmpty: boolean
}

export function nearServices(namespace: string, name: string, { services }: Pick<Catalog, 'services'>): NearServices {
  const namespaces: string[] = []
  const names: string[] = []
  for (const service of services.values()) {
    if (service.name === name) namespaces.push(service.namespace)
    if (service.namespace === namespace && names.length < mostCompared) names.push(service.name)
  }
  return {
    namespaces: namespaces.sort(),
    nearestName: namespaces.length > 0 ? undefined : nearestName(name, names),
    isEmpty: names.length === 0,
  }
}
