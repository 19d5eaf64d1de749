/** The HNS network, and which node has an address of it. */
import type { HcnNetwork } from '../../dataplane/hcn/hcn.ts'
import { cidrContains, parseCidr, parseIp } from '../../net/ip.ts'

export interface Network {
  readonly id: string
  /** The node that has an address of a pod, or is it; undefined for addresses outside of the network. */
  findProvider(ip: string): string | undefined
  /** Equal texts: `findProvider` always answers the same. */
  readonly subnets: string
}

/** Prefixes that cannot be read are ignored. Where several fit, the last one counts. */
export function networkOf({ id, remoteSubnets }: Pick<HcnNetwork, 'id' | 'remoteSubnets'>): Network {
  const subnets = remoteSubnets.map(({ prefix, providerAddress }) => ({
    cidr: parseCidr(prefix),
    provider: parseIp(providerAddress) ?? providerAddress,
  }))
  return {
    id,
    findProvider: (ip) =>
      subnets.findLast(({ cidr, provider }) => (cidr !== undefined && cidrContains(cidr, ip)) || ip === provider)
        ?.provider,
    subnets: remoteSubnets.map(({ prefix, providerAddress }) => `${prefix} ${providerAddress}`).join(),
  }
}
