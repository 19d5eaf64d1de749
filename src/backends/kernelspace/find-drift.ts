/** Compares what HNS lists with what was written. */
import type { LoadBalancerSettings, LoadBalancerSummary } from '../../dataplane/hcn/hcn.ts'
import { loadBalancerFlags } from '../../dataplane/hcn/hcn.ts'
import { endpointAt, usedIps, withEndpoints } from './endpoint-table.ts'
import type { TableChange } from './endpoint-table.ts'
import type { Written } from './held.ts'

/** Undefined: all is as written. The cost is that of reading the list. */
export function findBalancerDrift(
  { held, left }: Pick<Written, 'held' | 'left'>,
  summaries: readonly LoadBalancerSummary[],
  odd: { has(summary: LoadBalancerSummary): boolean },
): string | undefined {
  const byId = new Map(summaries.map((summary) => [summary.id, summary]))
  for (const { id, frontend, settings } of held.values()) {
    const summary = byId.get(id)
    if (summary === undefined) return `the load balancer of ${frontend} is gone`
    if (summary.isDegraded) return `the load balancer of ${frontend} is degraded`
    if (!isListedAs(settings, summary) && !odd.has(summary)) return `somebody changed the load balancer of ${frontend}`
  }
  const [stuck] = left.balancers.values()
  return stuck && `a load balancer of ${stuck.frontend}, which nobody wants, is still there`
}

/** Only endpoints that matter to some route: those of other pods come and go. */
export function findEndpointDrift({ table, plan, root }: Written, change: TableChange): string | undefined {
  const after = withEndpoints(table, change)
  const isSource = (ip: string) => ip === plan.settings.sourceVip
  for (const endpoint of change.removed) {
    if (endpoint.id === root?.id) return `the endpoint ${endpoint.name} of the host is gone`
    for (const ip of usedIps(endpoint))
      if (plan.keysByIp.has(ip) || isSource(ip)) return `the endpoint of ${ip} is gone`
  }
  for (const ip of change.added.flatMap(usedIps))
    if (plan.keysByIp.has(ip) && endpointAt(after, ip)?.id !== endpointAt(table, ip)?.id)
      return `${ip} has got another endpoint`
  return undefined
}

/** Everything that a summary tells. */
export function textOf(summary: LoadBalancerSummary): string {
  const { endpoints, vip, protocol, internalPort, externalPort, sourceVip, isDsr } = summary
  const ids = [...new Set(endpoints)].sort()
  return [protocol, vip ?? 'any', externalPort, internalPort, sourceVip ?? '-', isDsr, ...ids].join(' ')
}

export function isListedAs(settings: LoadBalancerSettings, summary: LoadBalancerSummary): boolean {
  const isDsr = (settings.flags & loadBalancerFlags.dsr) !== 0
  return textOf(summary) === textOf({ ...settings, id: '', isDsr, isDegraded: false })
}
