/** What the userspace mode leaves: chains, and the routing rule by which answers of pods find back to it. */
import { nothingFound, removalOf } from '../../core/leftover.ts'
import type { Findings, Removal } from '../../core/leftover.ts'
import type { OwnChain } from '../../dataplane/iptables/cleanup/own-chain.ts'
import type { MarkedDelivery } from '../../dataplane/marked-delivery/marked-delivery.ts'
import { families } from '../../net/ip.ts'
import { portalChains } from './portals/chains.ts'

const kubeProxys = 'of the userspace mode, which kube-proxy had until 1.25'
const fairleads = "of Fairlead's userspace mode"
const clusterIps = ['handle ClusterIPs; NOTE: this must be before the NodePort rules']
const nodePorts = ['handle service NodePorts; NOTE: this must be the last rule in the chain']

export const ownChains: readonly OwnChain[] = [
  { name: portalChains.portalsContainer, tables: ['nat'], reason: kubeProxys, jumpComments: clusterIps },
  { name: portalChains.portalsHost, tables: ['nat'], reason: kubeProxys, jumpComments: clusterIps },
  { name: portalChains.nodePortContainer, tables: ['nat'], reason: kubeProxys, jumpComments: nodePorts },
  { name: portalChains.nodePortHost, tables: ['nat'], reason: kubeProxys, jumpComments: nodePorts },
  {
    name: portalChains.nodePortNonLocal,
    tables: ['filter'],
    reason: kubeProxys,
    jumpComments: ['Ensure that non-local NodePort traffic can flow'],
  },
  {
    name: portalChains.ports,
    tables: ['filter'],
    reason: fairleads,
    jumpComments: ['kubernetes service proxy ports'],
  },
  {
    name: portalChains.firewall,
    tables: ['filter'],
    reason: fairleads,
    jumpComments: ['kubernetes load balancer firewall'],
  },
  {
    name: portalChains.answers,
    tables: ['mangle'],
    reason: fairleads,
    jumpComments: ['kubernetes service portals: answers of pods to clients'],
    carriesOpen: true,
  },
]

export async function findLeftovers(
  { delivery }: { readonly delivery: MarkedDelivery },
  signal: AbortSignal,
): Promise<Findings> {
  const { mark, table } = delivery.numbers
  const reason = 'returns answers of pods to the userspace mode'
  const removals: Removal[] = []
  for (const family of families) {
    if (!(await delivery.isThere(family, signal))) continue
    const what = `${family} routing: the rule from mark 0x${mark.toString(16)} to table ${table}, and the table`
    const leftover = { what, reason, modes: ['userspace'], carriesOpen: true }
    removals.push(removalOf(leftover, (removing) => delivery.remove(family, removing)))
  }
  return { ...nothingFound, removals }
}
