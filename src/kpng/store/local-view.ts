/** What one node must program for one Service, encoded. */
import { categorize } from '../../core/routing/categorize.ts'
import type { Candidate } from '../../core/routing/categorize.ts'
import { families } from '../../net/ip.ts'
import type { Family } from '../../net/ip.ts'
import { isReady } from '../model/cluster-model.ts'
import type { ClusterEndpoint } from '../model/cluster-model.ts'
import type { EndpointScopes, Service } from '../proto/generated/localv1/api.ts'
import { compareBytes } from '../wire/byte-order.ts'
import { endpointKeys } from './endpoint-keys.ts'
import type { EndpointItems } from './endpoint-items.ts'
import type { OpItem } from './op-items.ts'

/** The node that asks, and what it asks for. */
export interface Viewer {
  readonly node: string
  readonly zone: string
  /**
   * Also send the endpoints that neither kind of traffic may use here. KPNG does not send them, and Go backends would
   * use them. But a client that knows them can tell "nobody serves" from "others serve". With both policies Local, the
   * external scope then is that of the whole cluster, which pods of this node may use even so.
   */
  readonly wantsUnscoped: boolean
}

export interface LocalView {
  readonly service: OpItem
  /** Both in ascending order of path. */
  readonly named: readonly OpItem[]
  readonly anonymous: readonly OpItem[]
}

export function localView(
  service: Service,
  serviceItem: OpItem,
  endpoints: readonly ClusterEndpoint[],
  viewer: Viewer,
  items: EndpointItems,
): LocalView {
  const named: OpItem[] = []
  const anonymous: OpItem[] = []
  const keys = endpointKeys(endpoints)
  const scopes = scopesOf(service, endpoints, viewer)
  for (const [index, endpoint] of endpoints.entries()) {
    const scope = scopes[index]
    if (scope === undefined) continue
    const key = keys[index]
    const item = items.of(service, endpoint, { key, scopes: scope, isLocal: isLocal(endpoint, viewer) })
    if (key !== undefined) named.push(item)
    else anonymous.push(item)
  }
  return { service: serviceItem, named: sorted(named), anonymous: withoutRepetition(sorted(anonymous)) }
}

/** Returns nothing if the endpoint is not for this node at all. The rules are those of the node's own router. */
function scopesOf(
  service: Service,
  endpoints: readonly ClusterEndpoint[],
  viewer: Viewer,
): readonly (EndpointScopes | undefined)[] {
  const isInternalLocal = service.InternalTrafficToLocal
  const isExternalLocal = service.ExternalTrafficToLocal
  // With both policies Local the two scopes would be equal, and nothing would say who serves the whole cluster.
  const tellsCluster = viewer.wantsUnscoped && isInternalLocal && isExternalLocal
  const scopes: (EndpointScopes | undefined)[] = endpoints.map(() => undefined)
  for (const family of families) {
    const indexByCandidate = new Map<Candidate, number>()
    for (const [index, endpoint] of endpoints.entries())
      if (isOfFamily(endpoint, family)) indexByCandidate.set(candidate(endpoint, viewer), index)
    const { cluster, local } = categorize(
      [...indexByCandidate.keys()],
      { clusterEndpoints: true, localEndpoints: isInternalLocal || isExternalLocal },
      { nodeName: viewer.node, zone: viewer.zone },
    )
    const internal = new Set(isInternalLocal ? local : cluster)
    const external = new Set(isExternalLocal && !tellsCluster ? local : cluster)
    for (const usable of new Set([...cluster, ...local])) {
      const scope = { Internal: internal.has(usable), External: external.has(usable) }
      const index = indexByCandidate.get(usable)
      if (index !== undefined && (scope.Internal || scope.External || viewer.wantsUnscoped)) scopes[index] = scope
    }
  }
  return scopes
}

function isOfFamily({ info }: ClusterEndpoint, family: Family): boolean {
  const ips = info.Endpoint?.IPs
  return ((family === 'ipv4' ? ips?.V4 : ips?.V6)?.length ?? 0) > 0
}

function candidate(endpoint: ClusterEndpoint, viewer: Viewer): Candidate {
  const { info, serving, terminating, nodeHints } = endpoint
  return {
    isLocal: isLocal(endpoint, viewer),
    ready: isReady(endpoint),
    serving,
    terminating,
    zoneHints: info.Hints?.Zones ?? [],
    nodeHints,
    // Backends know the annotations, and weigh by themselves.
    weight: 1,
  }
}

/** A client that asks for no particular node has no local endpoints. */
function isLocal({ info }: ClusterEndpoint, { node }: Viewer): boolean {
  return node !== '' && info.Topology?.Node === node
}

function sorted(items: OpItem[]): readonly OpItem[] {
  return items.sort((left, right) => compareBytes(left.path, right.path))
}

/** Two sources may list the same address, which is then sent once. */
function withoutRepetition(items: readonly OpItem[]): readonly OpItem[] {
  return items.filter((item, index) => item.path !== items[index - 1]?.path)
}
