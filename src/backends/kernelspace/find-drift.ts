/** Compares what HNS lists with what was written. */
import type { LoadBalancerSummary } from '../../dataplane/hcn/hcn.ts'
import type { BalancerReader } from './balancer-reader.ts'
import { endpointAt, usedIps, withEndpoints } from './endpoint-table.ts'
import type { TableChange } from './endpoint-table.ts'
import type { Written } from './held.ts'

/** Undefined: all is as written. The cost is that of reading the list. */
export function findBalancerDrift(
  { held, left }: Pick<Written, 'held' | 'left'>,
  summaries: readonly LoadBalancerSummary[],
  reader: Pick<BalancerReader, 'isListedAs'>,
): string | undefined {
  const byId = new Map(summaries.map((summary) => [summary.id, summary]))
  for (const { id, frontend, settings } of held.values()) {
    const summary = byId.get(id)
    if (summary?.isDegraded === true) return `the load balancer of ${frontend} is degraded`
    if (reader.isListedAs(id, settings, summary)) continue
    return summary === undefined
      ? `the load balancer of ${frontend} is gone`
      : `somebody changed the load balancer of ${frontend}`
  }
  const [stuck] = left.balancers.values()
  return stuck && `a load balancer of ${stuck.frontend}, which nobody wants, is still there`
}

/** The endpoint of the host, which health checks are forwarded to. */
export function findRootDrift(
  { root, plan }: Pick<Written, 'root' | 'plan'>,
  found: Written['root'],
): string | undefined {
  if (root?.id === found?.id) return undefined
  const what = `the endpoint ${plan.settings.rootEndpointName} of the host is`
  if (found === undefined) return `${what} gone`
  return root === undefined ? `${what} there now` : `${what} another one now`
}

/** Only endpoints that matter to some route: those of other pods come and go. */
export function findEndpointDrift({ table, plan }: Written, change: TableChange): string | undefined {
  const after = withEndpoints(table, change)
  const isSource = (ip: string) => ip === plan.settings.sourceVip
  for (const endpoint of change.removed) {
    for (const ip of usedIps(endpoint))
      if (plan.keysByIp.has(ip) || isSource(ip)) return `the endpoint of ${ip} is gone`
  }
  for (const ip of change.added.flatMap(usedIps))
    if (plan.keysByIp.has(ip) && endpointAt(after, ip)?.id !== endpointAt(table, ip)?.id)
      return `${ip} has got another endpoint`
  return undefined
}
