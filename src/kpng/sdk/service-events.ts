/**
 * What happened to Services, in steps that a data plane can follow one by one. For each Service, ports are removed
 * before others are added, but endpoints and addresses are added before others are removed, so that no step removes
 * what the next one needs.
 */
import { isSameData } from '../../core/same-data.ts'
import type { ChangedService } from './node-changes.ts'
import type { NodeEndpoint, NodeService, NodeServicePort } from './node-service.ts'

export type AddressKind = 'cluster' | 'external' | 'load-balancer'

export type ServiceEvent = { readonly service: NodeService } & (
  | { readonly kind: 'port-removed' | 'port-added'; readonly port: NodeServicePort }
  | { readonly kind: 'endpoint-added' | 'endpoint-removed'; readonly endpoint: NodeEndpoint }
  | { readonly kind: 'endpoint-changed'; readonly endpoint: NodeEndpoint; readonly previous: NodeEndpoint }
  | { readonly kind: 'address-added' | 'address-removed'; readonly address: string; readonly of: AddressKind }
  /** One address with one port. */
  | {
      readonly kind: 'pair-removed' | 'pair-added'
      readonly address: string
      readonly of: AddressKind
      readonly port: NodeServicePort
    }
  | { readonly kind: 'policy-changed'; readonly traffic: 'internal' | 'external'; readonly policy: 'Cluster' | 'Local' }
  /** 0: there is none any more. */
  | { readonly kind: 'affinity-changed'; readonly seconds: number }
)

export function serviceEvents(changed: readonly ChangedService[]): readonly ServiceEvent[] {
  return changed.flatMap((change) => [...eventsOf(change)])
}

function* eventsOf({ before, after }: ChangedService): Generator<ServiceEvent> {
  const service = after ?? before
  if (service === undefined) return
  const ports = difference(before?.ports ?? [], after?.ports ?? [])
  const addresses = difference(addressesOf(before), addressesOf(after))
  const pairs = difference(pairsOf(before), pairsOf(after))
  for (const port of ports.removed) yield { kind: 'port-removed', service, port }
  for (const port of ports.added) yield { kind: 'port-added', service, port }
  const endpointsBefore = byId(before)
  for (const endpoint of after?.endpoints ?? []) {
    const previous = endpointsBefore.get(endpoint.id)
    if (previous === undefined) yield { kind: 'endpoint-added', service, endpoint }
    else if (!isSameData(previous, endpoint)) yield { kind: 'endpoint-changed', service, endpoint, previous }
  }
  for (const address of addresses.added) yield { kind: 'address-added', service, ...address }
  for (const pair of pairs.removed) yield { kind: 'pair-removed', service, ...pair }
  for (const pair of pairs.added) yield { kind: 'pair-added', service, ...pair }
  for (const traffic of ['internal', 'external'] as const) {
    const [was, is] = [policyOf(before, traffic), policyOf(after, traffic)]
    if (was !== is) yield { kind: 'policy-changed', service, traffic, policy: is }
  }
  const seconds = after?.affinitySeconds ?? 0
  if ((before?.affinitySeconds ?? 0) !== seconds) yield { kind: 'affinity-changed', service, seconds }
  for (const address of addresses.removed) yield { kind: 'address-removed', service, ...address }
  const endpointsAfter = byId(after)
  for (const endpoint of endpointsBefore.values())
    if (!endpointsAfter.has(endpoint.id)) yield { kind: 'endpoint-removed', service, endpoint }
}

function byId(service: NodeService | undefined): ReadonlyMap<string, NodeEndpoint> {
  return new Map(service?.endpoints.map((endpoint) => [endpoint.id, endpoint]))
}

function policyOf(service: NodeService | undefined, traffic: 'internal' | 'external'): 'Cluster' | 'Local' {
  return (traffic === 'internal' ? service?.internalPolicy : service?.externalPolicy) ?? 'Cluster'
}

interface Address {
  readonly address: string
  readonly of: AddressKind
}

function addressesOf(service: NodeService | undefined): readonly Address[] {
  const { clusterIPs = [], externalIPs = [], loadBalancerIPs = [] } = service ?? {}
  return [
    ...clusterIPs.map((address) => ({ address, of: 'cluster' }) as const),
    ...externalIPs.map((address) => ({ address, of: 'external' }) as const),
    ...loadBalancerIPs.map((address) => ({ address, of: 'load-balancer' }) as const),
  ]
}

function pairsOf(service: NodeService | undefined): readonly (Address & { readonly port: NodeServicePort })[] {
  return addressesOf(service).flatMap((address) => (service?.ports ?? []).map((port) => ({ ...address, port })))
}

function difference<T>(before: readonly T[], after: readonly T[]): { removed: readonly T[]; added: readonly T[] } {
  return {
    removed: before.filter((item) => !after.some((other) => isSameData(item, other))),
    added: after.filter((item) => !before.some((other) => isSameData(item, other))),
  }
}
