/** `/debug/services/NAMESPACE/NAME`: all that this node knows about one Service. */
import { objectKey } from '../../../api/records.ts'
import type { ObjectKey, SliceRecord } from '../../../api/records.ts'
import type { NodeView } from '../../../core/backend.ts'
import type { Catalog } from '../../../core/catalog.ts'
import { nearServices } from '../../../core/near-services.ts'
import { routeKey } from '../../../core/route.ts'
import { zonesOf } from '../../../core/routing/endpoints.ts'
import { refused } from './debug-page.ts'
import type { DebugPage } from './debug-page.ts'
import { routeInFull } from './shown-route.ts'

export interface ServicePageOptions {
  readonly catalog: Pick<Catalog, 'services' | 'slicesOf'>
  readonly views: () => readonly NodeView[]
  /** Each adds one field; undefined: there is nothing to say. */
  readonly more: Readonly<Record<string, (service: ObjectKey, signal: AbortSignal) => unknown>>
}

/** A Service may have thousands of endpoints; all of them are in its slices. */
const mostSlices = 100

export function servicePage({ catalog, views, more }: ServicePageOptions): DebugPage {
  return {
    path: '/debug/services/',
    about: 'all about one Service: /debug/services/NAMESPACE/NAME',
    async answer({ rest }, signal) {
      const [namespace = '', name = '', ...extra] = rest
      if (namespace === '' || name === '' || extra.length > 0)
        return refused(400, 'name a Service: /debug/services/NAMESPACE/NAME; /debug/view lists them')
      const key = objectKey({ namespace, name })
      const service = catalog.services.get(key)
      if (service === undefined) return refused(404, unknownService(namespace, name, catalog))
      const slices = [...catalog.slicesOf(key).values()]
      const zones = zonesOf(slices)
      const keys = service.ports.map((port) => routeKey(namespace, name, port.name, port.protocol))
      const routes = views().flatMap(({ routesByKey }) => keys.flatMap((one) => routesByKey.get(one) ?? []))
      return {
        kind: 'json',
        value: {
          service,
          ...(await allOf(more, key, signal)),
          routes: routes.map((route) => routeInFull(route, zones)),
          slices: slices.slice(0, mostSlices).map(sliceInShort),
          ...(slices.length > mostSlices && { moreSlices: slices.length - mostSlices }),
        },
      }
    },
  }
}

async function allOf(more: ServicePageOptions['more'], key: ObjectKey, signal: AbortSignal) {
  const fields = await Promise.all(
    Object.entries(more).map(async ([field, read]) => [field, await read(key, signal)] as const),
  )
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined))
}

function sliceInShort({ name, family, ports, endpoints, triggerTimeMs }: SliceRecord) {
  const lastChange = triggerTimeMs === undefined ? undefined : new Date(triggerTimeMs).toISOString()
  return { name, family, ports, endpoints: endpoints.length, lastChange }
}

function unknownService(namespace: string, name: string, catalog: Pick<Catalog, 'services'>): string {
  const start = `this node knows no Service ${namespace}/${name}`
  const { namespaces, nearestName } = nearServices(namespace, name, catalog)
  const [elsewhere] = namespaces
  if (elsewhere !== undefined) return `${start}; did you mean ${elsewhere}/${name}?`
  return nearestName === undefined
    ? `${start}; /debug/view lists them`
    : `${start}; did you mean ${namespace}/${nearestName}?`
}
