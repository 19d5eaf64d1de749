/** The addresses this node goes by, and which family comes first. */
import { familyOf, isUnspecified, loopbackIps, parseIp } from '../../net/ip.ts'
import type { Family } from '../../net/ip.ts'

export interface NodeIps {
  readonly primaryFamily: Family
  /** A loopback address stands for a family the node has no address of. */
  readonly ips: Readonly<Record<Family, string>>
}

/**
 * The Node's addresses (the primary first), unless `bindAddress` names one: then its family is the primary one and it
 * replaces the address of that family.
 */
export function nodeIps({
  ips,
  bindAddress,
}: {
  readonly ips: readonly string[]
  readonly bindAddress: string
}): NodeIps {
  const bound = parseIp(bindAddress)
  const override = bound === undefined || isUnspecified(bound) ? undefined : bound
  const chosen: Record<Family, string> = { ...loopbackIps }
  for (const ip of override === undefined ? ips : [...ips, override]) chosen[familyOf(ip)] = ip
  const primary = override ?? ips[0]
  return { primaryFamily: primary === undefined ? 'ipv4' : familyOf(primary), ips: chosen }
}
