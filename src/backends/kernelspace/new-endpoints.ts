/** Endpoints that HNS has to get before load balancers can name them. */
import type { RouteKey } from '../../core/route.ts'
import { conjuredMac } from '../../dataplane/hcn/conjured-mac.ts'
import type { EndpointSettings } from '../../dataplane/hcn/hcn.ts'
import type { Written } from './held.ts'
import type { Network } from './network.ts'
import { missingIps } from './resolve.ts'
import { isOverlay } from './settings.ts'
import type { KernelspaceSettings } from './settings.ts'

export interface NewEndpoint {
  readonly ip: string
  readonly purpose: 'source-vip' | 'service-vip' | 'backend'
}

/** The source VIP first, because nothing can be forwarded without it; then the addresses of Services, then of pods. */
export function newEndpointsFor(
  keys: Iterable<RouteKey>,
  { plan, table }: Pick<Written, 'plan' | 'table'>,
): readonly NewEndpoint[] {
  const { settings, routesByKey } = plan
  const vips = new Set<string>()
  const backends = new Set<string>()
  for (const key of keys) {
    const route = routesByKey.get(key)
    if (route === undefined) continue
    if (route.vipEndpoint !== undefined && !table.byIp.has(route.vipEndpoint)) vips.add(route.vipEndpoint)
    for (const balancer of route.balancers) for (const ip of missingIps(balancer, table)) backends.add(ip)
  }
  const { sourceVip } = settings
  const needsSource = isOverlay(settings) && sourceVip !== undefined && !table.byIp.has(sourceVip)
  return [
    ...(needsSource ? [{ ip: sourceVip, purpose: 'source-vip' } as const] : []),
    ...Array.from(vips, (ip) => ({ ip, purpose: 'service-vip' }) as const),
    ...Array.from(backends, (ip) => ({ ip, purpose: 'backend' }) as const).filter(({ ip }) => !vips.has(ip)),
  ]
}

export function endpointSettings(
  { ip, purpose }: NewEndpoint,
  settings: KernelspaceSettings,
  network: Pick<Network, 'findProvider'>,
): EndpointSettings {
  const { nodeIp, hostMac } = settings
  switch (purpose) {
    case 'source-vip':
      return { ip, mac: hostMac, isRemote: false, providerAddress: undefined }
    case 'service-vip':
      return { ip, mac: hostMac, isRemote: true, providerAddress: nodeIp }
    case 'backend': {
      const provider = isOverlay(settings) ? (network.findProvider(ip) ?? nodeIp) : undefined
      return { ip, mac: conjuredMac(ip), isRemote: true, providerAddress: provider }
    }
    default:
      return purpose satisfies never
  }
}
