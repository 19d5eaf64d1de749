/** Every address of the cluster. All of them exist only in namespaces of the test. */
export const apiServerPort = 6443
export const serviceCidrs = ['10.96.0.0/16', 'fd00:10:96::/112'] as const
export const podCidrs = ['10.244.0.0/16', 'fd00:10:244::/56'] as const
export const kubernetesServiceAddress = '10.96.0.1'
export const dnsServiceAddress = '10.96.0.10'

/** Of the bridge that joins the nodes; the control plane and the test program are behind it. */
export const hub = { ipv4: '172.30.0.1', ipv6: 'fd00:172:30::1' } as const

export interface NodeAddresses {
  readonly name: string
  readonly zone: string
  readonly ipv4: string
  readonly ipv6: string
  readonly podCidrs: readonly [string, string]
}

export function nodeAddresses(count: number): readonly NodeAddresses[] {
  return Array.from({ length: count }, (_, index) => ({
    name: `node-${index + 1}`,
    zone: `zone-${index + 1}`,
    ipv4: `172.30.0.${11 + index}`,
    ipv6: `fd00:172:30::${11 + index}`,
    podCidrs: [`10.244.${index + 1}.0/24`, `fd00:10:244:${index + 1}::/64`],
  }))
}
