/** Chains that both the iptables and the ipvs mode have. */
import { topChains } from '../language/kube-chains.ts'
import type { OwnChain } from './own-chain.ts'

export const ofAllServices = 'shared by all Services'

export const servicePortals = 'kubernetes service portals'

export const sharedChains: readonly OwnChain[] = [
  { name: topChains.services, tables: ['nat'], reason: ofAllServices, jumpComments: [servicePortals] },
  {
    name: topChains.postrouting,
    tables: ['nat'],
    reason: ofAllServices,
    jumpComments: ['kubernetes postrouting rules'],
  },
  { name: topChains.markMasquerade, tables: ['nat'], reason: ofAllServices },
  {
    name: topChains.forward,
    tables: ['filter'],
    reason: ofAllServices,
    jumpComments: ['kubernetes forwarding rules', 'kubernetes forward rules'],
  },
  {
    name: topChains.proxyFirewall,
    tables: ['filter'],
    reason: ofAllServices,
    jumpComments: ['kubernetes load balancer firewall', 'kube-proxy firewall rules'],
  },
]
