/** What an HNS holds, as lines without ids. */
import { loadBalancerFlags, mappingFlags } from '../../../dataplane/hcn/hcn.ts'
import type { StoredLoadBalancer } from '../../../dataplane/hcn/memory/hns-objects.ts'
import type { MemoryHns } from '../../../dataplane/hcn/memory/memory-hns.ts'
import { hostPort } from '../../../net/ip.ts'

/** `10.112.0.20:80/6 to 10.61.1.5 10.61.2.7 at 8080 dsr sticky`; `*` is every address of the host. */
export function describeBalancer(balancer: StoredLoadBalancer, hns: MemoryHns): string {
  const { vip, externalPort, protocol, internalPort, endpoints, isSticky, sourceVip, flags, isDegraded } = balancer
  const names = endpoints.map((id) => nameOf(id, hns)).sort()
  return [
    `${vip === undefined ? `*:${externalPort}` : hostPort(vip, externalPort)}/${protocol} to ${names.join(' ')} at ${internalPort}`,
    ...Object.entries(loadBalancerFlags).flatMap(([name, bit]) => ((flags & bit) === 0 ? [] : [name])),
    ...Object.entries(mappingFlags).flatMap(([name, bit]) => ((balancer.mappingFlags & bit) === 0 ? [] : [name])),
    ...(isSticky ? ['sticky'] : []),
    ...(sourceVip === undefined ? [] : [`from ${sourceVip}`]),
    ...(isDegraded ? ['degraded'] : []),
  ].join(' ')
}

/** Everything, in an order that does not depend on history. */
export function describeHns(hns: MemoryHns): readonly string[] {
  const endpoints = hns.endpoints.map(
    ({ ips, mac, isRemote, providerAddress }) =>
      `${isRemote ? 'remote' : 'local'} endpoint ${ips.join()} ${mac} ${providerAddress ?? ''}`,
  )
  return [...hns.loadBalancers.map((balancer) => describeBalancer(balancer, hns)), ...endpoints].sort()
}

function nameOf(id: string, { endpoints }: MemoryHns): string {
  const endpoint = endpoints.find((it) => it.id === id)
  return endpoint === undefined ? 'nowhere' : endpoint.name === 'cbr0' ? 'cbr0' : (endpoint.ips[0] ?? '?')
}
