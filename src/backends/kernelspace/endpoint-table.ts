/** The endpoints that HNS has in the network: those of the CNI, and the remote ones. A value. */
import { VersionedMap } from '../../core/versioned-map.ts'
import type { HcnEndpoint } from '../../dataplane/hcn/hcn.ts'

export interface EndpointTable {
  readonly byId: VersionedMap<string, HcnEndpoint>
  /** Never empty. */
  readonly byIp: VersionedMap<string, readonly HcnEndpoint[]>
}

export interface TableChange {
  readonly added: readonly HcnEndpoint[]
  readonly removed: readonly HcnEndpoint[]
}

/** Of each endpoint; HNS may list more, which nobody uses. */
const mostIps = 2

export function endpointTable(endpoints: readonly HcnEndpoint[]): EndpointTable {
  return withEndpoints({ byId: new VersionedMap(), byIp: new VersionedMap() }, { added: endpoints, removed: [] })
}

export function withEndpoints(table: EndpointTable, { added, removed }: TableChange): EndpointTable {
  const byId = new Map<string, HcnEndpoint | undefined>()
  const byIp = new Map<string, readonly HcnEndpoint[] | undefined>()
  const current = (ip: string) => (byIp.has(ip) ? byIp.get(ip) : table.byIp.get(ip)) ?? []
  for (const endpoint of removed) {
    byId.set(endpoint.id, undefined)
    for (const ip of usedIps(endpoint)) {
      const others = current(ip).filter(({ id }) => id !== endpoint.id)
      byIp.set(ip, others.length === 0 ? undefined : others)
    }
  }
  for (const endpoint of added) {
    byId.set(endpoint.id, endpoint)
    for (const ip of usedIps(endpoint)) byIp.set(ip, [...current(ip), endpoint])
  }
  return { byId: table.byId.with(byId), byIp: table.byIp.with(byIp) }
}

/**
 * Until Windows Server 2022, HNS lets a local and a remote endpoint have one address. Then the pod is here, and the remote
 * one is a relic. Among several of one kind the first counts.
 */
export function endpointAt({ byIp }: Pick<EndpointTable, 'byIp'>, ip: string): HcnEndpoint | undefined {
  const endpoints = byIp.get(ip)
  return endpoints?.find(({ isRemote }) => !isRemote) ?? endpoints?.[0]
}

export function usedIps({ ips }: HcnEndpoint): readonly string[] {
  return ips.slice(0, mostIps)
}

/** From the table to what HNS lists now; the new ones must be read. */
export function differencesOf(
  { byId }: EndpointTable,
  ids: readonly string[],
): { readonly newIds: readonly string[]; readonly gone: readonly HcnEndpoint[] } {
  const newIds = ids.filter((id) => !byId.has(id))
  if (byId.size === ids.length - newIds.length) return { newIds, gone: [] }
  const listed = new Set(ids)
  return { newIds, gone: byId.values().filter(({ id }) => !listed.has(id)) }
}
