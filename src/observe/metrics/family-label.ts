import type { Family } from '../../net/ip.ts'

const labelByFamily = { ipv4: 'IPv4', ipv6: 'IPv6' } as const

/** As in kube-proxy's series. */
export function familyLabel(family: Family): { readonly ip_family: 'IPv4' | 'IPv6' } {
  return { ip_family: labelByFamily[family] }
}
