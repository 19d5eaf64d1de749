/** A Service as a row of the list: what people look for, and the first thing that is wrong. */
import type { ObjectKey, ServicePort, ServiceRecord } from '../../../api/records.ts'
import { becauseWords } from '../../../core/explain/words.ts'
import { routeKey } from '../../../core/route.ts'
import type { Route } from '../../../core/route.ts'
import type { PortInShort, ServiceRow } from '../wire.ts'
import { endpointCounts } from './endpoint-counts.ts'
import type { NodeParts } from './node-parts.ts'

type RowParts = Pick<NodeParts, 'catalog' | 'families' | 'notices'>

/** Without its traffic. */
export function serviceRow(key: ObjectKey, record: ServiceRecord, parts: RowParts): Omit<ServiceRow, 'traffic'> {
  const { type, clusterIPs, externalIPs, loadBalancerIPs } = record
  const routes = routesOfService(record, parts)
  const policies = policiesOf(record, routes)
  const problem = parts.notices.about(key)[0]?.text ?? failedRoute(routes, parts) ?? unserved(routes)
  return {
    key,
    type,
    clusterIPs: [clusterIPs.ipv4, clusterIPs.ipv6].filter((ip) => ip !== undefined),
    ...(externalIPs.length + loadBalancerIPs.length > 0 && {
      external: [...new Set([...externalIPs, ...loadBalancerIPs])],
    }),
    ports: record.ports.map(portInShort),
    ...(policies.length > 0 && { policies }),
    endpoints: endpointCounts(parts.catalog.slicesOf(key).values(), routes),
    ...(problem !== undefined && { problem }),
  }
}

/** Those that the last syncs were given, of all families. */
function routesOfService(
  { namespace, name, ports }: ServiceRecord,
  { families }: Pick<NodeParts, 'families'>,
): readonly Route[] {
  const routes: Route[] = []
  for (const family of families) {
    const { routesByKey } = family.view()
    for (const port of ports) {
      const route = routesByKey.get(routeKey(namespace, name, port.name, port.protocol))
      if (route !== undefined) routes.push(route)
    }
  }
  return routes
}

export function portInShort({ name, port, nodePort, protocol }: ServicePort): PortInShort {
  return { ...(name !== '' && { name }), port, ...(nodePort !== 0 && { nodePort }), protocol }
}

/** What is not the default. */
function policiesOf(record: ServiceRecord, routes: readonly Route[]): readonly string[] {
  const { internalTrafficPolicy, externalTrafficPolicy, affinitySeconds, sourceRanges, traffic, relaying } = record
  const policies: string[] = []
  if (internalTrafficPolicy === 'Local') policies.push('internal Local')
  if (externalTrafficPolicy === 'Local') policies.push('external Local')
  if (affinitySeconds > 0) policies.push('affinity')
  if (routes.some(({ topology }) => topology === 'PreferSameNode')) policies.push('same node')
  if (routes.some(({ topology }) => topology === 'PreferSameZone')) policies.push('same zone')
  if (sourceRanges.length > 0) policies.push('source ranges')
  if (traffic?.algorithm !== undefined) policies.push(traffic.algorithm.replaceAll('-', ' '))
  if (traffic?.weights !== undefined) policies.push('weights')
  if (relaying?.proxyProtocol !== undefined) policies.push(`PROXY protocol ${relaying.proxyProtocol}`)
  return policies
}

function failedRoute(routes: readonly Route[], { families }: RowParts): string | undefined {
  for (const family of families) {
    const failed = family.failedRoutes()
    if (failed.size > 0)
      for (const route of routes)
        if (route.family === family.family) {
          const why = failed.get(route.key)
          if (why !== undefined) return `not all of it is programmed: ${why}`
        }
  }
  return undefined
}

/** As far as it holds for everybody, in the words of `fairlead explain`. */
function unserved(routes: readonly Route[]): string | undefined {
  for (const { internal } of routes) {
    if (internal.outside.kind === 'reject') return becauseWords['no endpoint']
    if (internal.outside.kind === 'drop') return becauseWords['no endpoint here']
  }
  return undefined
}
