/**
 * Remote endpoints of an overlay network that lead to the wrong node: they were made before HNS learned which node has the
 * address, or the pods of that subnet are on another node now. HNS has one for each address, so the old one has to go first.
 */
import type { Logger } from '../../core/logger.ts'
import type { Hcn, HcnEndpoint } from '../../dataplane/hcn/hcn.ts'
import type { OwnedObjects } from '../../dataplane/owned-objects/owned-objects.ts'
import { refusalOf } from './committed.ts'
import { endpointAt, usedIps, withEndpoints } from './endpoint-table.ts'
import type { HeldBalancer, Written } from './held.ts'
import { endpointSettings } from './new-endpoints.ts'
import type { Frontend } from './owned-names.ts'
import { ownedEndpoint } from './owned-names.ts'
import { isNeeded } from './plan.ts'
import type { KernelspacePlan } from './plan.ts'
import { isOverlay } from './settings.ts'

/** Only ours, only those that are needed, and only where HNS tells where they lead. */
export function misplacedEndpoints(
  { plan, table, network }: Pick<Written, 'plan' | 'table' | 'network'>,
  owned: Pick<OwnedObjects, 'has'>,
): readonly HcnEndpoint[] {
  if (!isOverlay(plan.settings)) return []
  return table.byId.values().filter((endpoint) => {
    const { id, isRemote, providerAddress } = endpoint
    const [ip, ...others] = usedIps(endpoint)
    if (!isRemote || providerAddress === undefined || ip === undefined || others.length > 0) return false
    const wanted = endpointSettings({ ip, purpose: purposeOf(plan, ip) }, plan.settings, network)
    if (wanted.providerAddress === providerAddress) return false
    return owned.has(ownedEndpoint(ip)) && isNeeded(plan, ip) && endpointAt(table, ip)?.id === id
  })
}

/** Deletes them, and the load balancers that name them. Returns what is there then; to make all of it anew is left to the sync. */
export async function releaseMisplaced(
  before: Written,
  { hcn, owned, log }: { readonly hcn: Hcn; readonly owned: OwnedObjects; readonly log: Logger },
  signal: AbortSignal,
): Promise<Written> {
  const released = new Map<Frontend, undefined>()
  const removed: HcnEndpoint[] = []
  const misplaced = misplacedEndpoints(before, owned)
  const users = misplaced.length === 0 ? new Map<string, HeldBalancer[]>() : balancersByEndpoint(before)
  for (const endpoint of misplaced) {
    try {
      for (const { id, frontend } of users.get(endpoint.id) ?? []) {
        if (released.has(frontend)) continue
        await hcn.deleteLoadBalancer(id, signal)
        released.set(frontend, undefined)
      }
      await hcn.deleteEndpoint(endpoint.id, signal)
      removed.push(endpoint)
    } catch (error) {
      const { ips, id } = endpoint
      log.warn('cannot delete an endpoint that leads to the wrong node', { ips, id, error: refusalOf(error) })
    }
  }
  return {
    ...before,
    held: before.held.with(released),
    table: withEndpoints(before.table, { added: [], removed }),
  }
}

function purposeOf({ keysByIp, routesByKey }: KernelspacePlan, ip: string): 'service-vip' | 'backend' {
  const isVip = (keysByIp.get(ip) ?? []).some((key) => routesByKey.get(key)?.vipEndpoint === ip)
  return isVip ? 'service-vip' : 'backend'
}

function balancersByEndpoint({ held }: Pick<Written, 'held'>): Map<string, HeldBalancer[]> {
  const byEndpoint = new Map<string, HeldBalancer[]>()
  for (const balancer of held.values())
    for (const id of balancer.settings.endpoints) byEndpoint.set(id, [...(byEndpoint.get(id) ?? []), balancer])
  return byEndpoint
}
