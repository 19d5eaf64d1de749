import type { Family } from '../../net/ip.ts'

/** Made once: they are asked for several times in each sync. */
const labelByFamily = {
  ipv4: Object.freeze({ ip_family: 'IPv4' }),
  ipv6: Object.freeze({ ip_family: 'IPv6' }),
} as const

/** As in kube-proxy's series. */
export function familyLabel(family: Family): { readonly ip_family: 'IPv4' | 'IPv6' } {
  return labelByFamily[family]
}
