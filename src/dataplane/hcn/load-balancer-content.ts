/** When two load balancers collide, and when they are the same. */
import { familyOf } from '../../net/ip.ts'
import { loadBalancerFlags } from './hcn.ts'
import type { LoadBalancerSettings } from './hcn.ts'

/**
 * What no two load balancers can have at once, e.g. `ipv4 6 10.96.0.10 53`, or `ipv6 17 any 31053`. An address tells its
 * family: kube-proxy makes load balancers for IPv6 addresses that lack the flag.
 */
export function frontendOf({
  vip,
  protocol,
  externalPort,
  flags,
}: Pick<LoadBalancerSettings, 'vip' | 'protocol' | 'externalPort' | 'flags'>): string {
  const flagged = (flags & loadBalancerFlags.ipv6) === 0 ? 'ipv4' : 'ipv6'
  return `${vip === undefined ? flagged : familyOf(vip)} ${protocol} ${vip ?? 'any'} ${externalPort}`
}

/** Equal texts: HNS does the same with both. The order of endpoints and the case of their ids do not matter. */
export function contentOf(settings: LoadBalancerSettings): string {
  const { internalPort, sourceVip, isSticky, mappingFlags, flags, endpoints } = settings
  const ids = [...new Set(endpoints.map((id) => id.toLowerCase()))].sort()
  const how = [internalPort, sourceVip ?? '-', isSticky ? 'sticky' : '-', mappingFlags, flags]
  return [frontendOf(settings), ...how, ...ids].join(' ')
}
