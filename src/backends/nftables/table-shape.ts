/** The sets and rules that are there only while something needs them: without, no packet is looked up in them. */
import { cidrContains, parseCidr } from '../../net/ip.ts'
import type { Cidr } from '../../net/ip.ts'
import type { NftablesPlan } from './plan.ts'

export interface TableShape {
  /** Some Service has a range of ports. */
  readonly hasRanges: boolean
  /** A Service, or a range of cluster IPs, has addresses in a range that is not tracked: what is sent to those is tracked all the same. */
  readonly hasTrackedExceptions: boolean
}

export function shapeOf({
  settings: { untrackedRanges = [] },
  node: { serviceCidrs },
  owners,
  rangedRoutes,
}: Pick<NftablesPlan, 'settings' | 'node' | 'owners' | 'rangedRoutes'>): TableShape {
  const trackedExceptions = owners.get('tracked-ips')?.size ?? 0
  return {
    hasRanges: rangedRoutes > 0,
    hasTrackedExceptions: trackedExceptions > 0 || overlap(untrackedRanges, serviceCidrs),
  }
}

function overlap(some: readonly string[], others: readonly string[]): boolean {
  if (some.length === 0) return false
  const cidrs = parsed(others)
  return parsed(some).some((range) =>
    cidrs.some((cidr) => cidrContains(range, cidr.network) || cidrContains(cidr, range.network)),
  )
}

function parsed(texts: readonly string[]): readonly Cidr[] {
  return texts.flatMap((text) => parseCidr(text) ?? [])
}
