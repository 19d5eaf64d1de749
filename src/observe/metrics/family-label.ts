import type { Family } from '../../net/ip.ts'

const labelByFamily = { ipv4: 'IPv4', ipv6: 'IPv6' } as const

/** The label that kube-proxy's series carry for an IP family. */
export function familyLabel(family: Family): { readonly ip_family: 'IPv4' | 'IPv6' } {
  return { ip_family: labelByFamily[family] }
}
