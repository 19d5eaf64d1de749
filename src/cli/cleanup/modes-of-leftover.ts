/** Which modes use an object of a proxy. */
import { topChains } from '../../backends/iptables/top-chains.ts'
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
    default:
      return leftover satisfies never
  }
}

function modesOfChain(table: Table, chain: string): readonly ProxyMode[] {
  // Until 1.25 the ipvs mode had a chain of this name in nat. In filter it guards loopback, for the iptables mode.
  if (chain === topChains.firewall) return table === 'nat' ? ['ipvs'] : ['iptables']
  return modesByChain.get(chain) ?? ['iptables']
}

const { services, postrouting, markMasquerade, forward, proxyFirewall, canary } = topChains

const chainsByModes: readonly (readonly [modes: readonly ProxyMode[], chains: readonly string[]])[] = [
  [
    ['iptables', 'ipvs'],
    [services, postrouting, markMasquerade, forward, proxyFirewall, canary],
  ],
  [
    ['ipvs'],
    ['KUBE-NODE-PORT', 'KUBE-LOAD-BALANCER', 'KUBE-SOURCE-RANGES-FIREWALL', 'KUBE-IPVS-FILTER', 'KUBE-IPVS-OUT-FILTER'],
  ],
  [
    ['userspace'],
    [
      'KUBE-PORTALS-CONTAINER',
      'KUBE-PORTALS-HOST',
      'KUBE-NODEPORT-CONTAINER',
      'KUBE-NODEPORT-HOST',
      'KUBE-NODEPORT-NON-LOCAL',
      'KUBE-PORTALS-PORTS',
      'KUBE-PORTALS-FIREWALL',
    ],
  ],
]

/** All others are of the iptables mode alone. */
const modesByChain: ReadonlyMap<string, readonly ProxyMode[]> = new Map(
  chainsByModes.flatMap(([modes, chains]) => chains.map((chain) => [chain, modes] as const)),
)
