/** Which modes use an object of a proxy. */
import { topChains } from '../../dataplane/iptables/language/kube-chains.ts'
import { portalChains } from '../../backends/userspace/portals/chains.ts'
import type { Table } from '../../dataplane/iptables/iptables.ts'
import type { ProxyMode } from '../../config/proxy-config.ts'
import type { Leftover } from './leftover.ts'

/** Empty: no mode of Fairlead does. */
export function modesOfLeftover(leftover: Leftover): readonly ProxyMode[] {
  switch (leftover.kind) {
    case 'iptables-rule':
      return modesOfChain(leftover.table, /(?:^| )-j (\S+)/.exec(leftover.rule)?.[1] ?? '')
    case 'iptables-chain':
      return modesOfChain(leftover.table, leftover.chain)
    case 'nft-chain':
    case 'empty-nft-table':
      return ['iptables', 'ipvs', 'userspace']
    case 'nft-table':
      return leftover.table === 'fairlead' ? ['nftables'] : []
    case 'virtual-server':
    case 'interface':
    case 'ipset':
      return ['ipvs']
    case 'counter':
      return ['iptables']
    case 'routing-rule':
      return ['userspace']
    default:
      return leftover satisfies never
  }
}

/** All chains that are not listed are of the iptables mode alone. */
function modesOfChain(table: Table, chain: string): readonly ProxyMode[] {
  return modesByChain.get(`${table} ${chain}`) ?? modesByChain.get(chain) ?? ['iptables']
}

const modesByChain: ReadonlyMap<string, readonly ProxyMode[]> = new Map<string, readonly ProxyMode[]>([
  [`nat ${topChains.services}`, ['iptables', 'ipvs']],
  [topChains.postrouting, ['iptables', 'ipvs']],
  [topChains.markMasquerade, ['iptables', 'ipvs']],
  [topChains.forward, ['iptables', 'ipvs']],
  [topChains.proxyFirewall, ['iptables', 'ipvs']],
  // Until 1.25 the ipvs mode had a chain of this name in nat. In filter it guards loopback, for the iptables mode.
  [`nat ${topChains.firewall}`, ['ipvs']],
  ['KUBE-NODE-PORT', ['ipvs']],
  ['KUBE-LOAD-BALANCER', ['ipvs']],
  ['KUBE-SOURCE-RANGES-FIREWALL', ['ipvs']],
  ['KUBE-IPVS-FILTER', ['ipvs']],
  ['KUBE-IPVS-OUT-FILTER', ['ipvs']],
  ...Object.values(portalChains).map((chain) => [chain, ['userspace']] as const),
])
