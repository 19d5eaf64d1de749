/**
 * What kube-proxy and Fairlead leave in iptables, by name. The list is closed on purpose: others name their chains
 * KUBE-something too (the kubelet, kube-router, network plugins), and those are theirs.
 */
import type { Table } from '../iptables.ts'
import { serviceChainPrefixes } from '../language/kube-chains.ts'
import { topChains } from '../language/kube-chains.ts'

const shared = 'shared by all Services'
const ipvsMode = 'of the ipvs mode'
const userspaceMode = 'of the userspace mode, which kube-proxy had until 1.25'
const portals = "of Fairlead's userspace mode"
const canary = 'lets a proxy notice that the table was flushed'

const reasonsByChain: Readonly<Record<Table, Readonly<Record<string, string>>>> = {
  mangle: { [topChains.canary]: canary, 'KUBE-PORTALS-ANSWERS': portals },
  filter: {
    [topChains.services]: shared,
    [topChains.externalServices]: shared,
    [topChains.nodePorts]: shared,
    [topChains.forward]: shared,
    [topChains.proxyFirewall]: shared,
    [topChains.canary]: canary,
    'KUBE-NODE-PORT': ipvsMode,
    'KUBE-SOURCE-RANGES-FIREWALL': ipvsMode,
    'KUBE-IPVS-FILTER': ipvsMode,
    'KUBE-IPVS-OUT-FILTER': ipvsMode,
    'KUBE-NODEPORT-NON-LOCAL': userspaceMode,
    'KUBE-PORTALS-PORTS': portals,
    'KUBE-PORTALS-FIREWALL': portals,
  },
  nat: {
    [topChains.services]: shared,
    [topChains.nodePorts]: shared,
    [topChains.postrouting]: shared,
    [topChains.markMasquerade]: shared,
    [topChains.canary]: canary,
    'KUBE-NODE-PORT': ipvsMode,
    'KUBE-LOAD-BALANCER': ipvsMode,
    // Until 1.25 the ipvs mode had one in nat. The kubelet's is in filter.
    'KUBE-FIREWALL': ipvsMode,
    'KUBE-PORTALS-CONTAINER': userspaceMode,
    'KUBE-PORTALS-HOST': userspaceMode,
    'KUBE-NODEPORT-CONTAINER': userspaceMode,
    'KUBE-NODEPORT-HOST': userspaceMode,
  },
}

/** KUBE-XLB- had its place until 1.24. The hash is part of the test: a prefix alone may be anybody's. */
const serviceChain = new RegExp(`^(?:${[...serviceChainPrefixes, 'KUBE-XLB-'].join('|')})[A-Z2-7]{16}$`)

/** Why the chain is a proxy's; undefined when it is not, or when it takes more than the name to tell. */
export function proxyChainReason(table: Table, chain: string): string | undefined {
  const reason = reasonsByChain[table][chain]
  if (reason !== undefined) return reason
  return table !== 'mangle' && serviceChain.test(chain) ? 'belongs to one Service port' : undefined
}

/** The kubelet makes them where it looks after iptables, and only it. */
export const kubeletChains: ReadonlySet<string> = new Set(['KUBE-KUBELET-CANARY', 'KUBE-IPTABLES-HINT'])

export const kernelChains: ReadonlySet<string> = new Set(['PREROUTING', 'INPUT', 'FORWARD', 'OUTPUT', 'POSTROUTING'])

const clusterIpPortals = 'handle ClusterIPs; NOTE: this must be before the NodePort rules'
const nodePortPortals = 'handle service NodePorts; NOTE: this must be the last rule in the chain'

/** The comments of the jumps that lead from the kernel's chains to the proxy's, of all modes and releases. */
const jumpComments: Readonly<Record<string, readonly string[]>> = {
  [topChains.services]: ['kubernetes service portals'],
  [topChains.externalServices]: ['kubernetes externally-visible service portals'],
  [topChains.nodePorts]: ['kubernetes health check service ports'],
  [topChains.forward]: ['kubernetes forwarding rules', 'kubernetes forward rules'],
  [topChains.proxyFirewall]: ['kubernetes load balancer firewall', 'kube-proxy firewall rules'],
  [topChains.postrouting]: ['kubernetes postrouting rules'],
  'KUBE-NODE-PORT': ['kubernetes health check rules'],
  'KUBE-IPVS-FILTER': ['kubernetes ipvs access filter'],
  'KUBE-IPVS-OUT-FILTER': ['kubernetes ipvs access filter'],
  'KUBE-PORTALS-CONTAINER': [clusterIpPortals],
  'KUBE-PORTALS-HOST': [clusterIpPortals],
  'KUBE-NODEPORT-CONTAINER': [nodePortPortals],
  'KUBE-NODEPORT-HOST': [nodePortPortals],
  'KUBE-NODEPORT-NON-LOCAL': ['Ensure that non-local NodePort traffic can flow'],
  'KUBE-PORTALS-PORTS': ['kubernetes service proxy ports'],
  'KUBE-PORTALS-FIREWALL': ['kubernetes load balancer firewall'],
  'KUBE-PORTALS-ANSWERS': ['kubernetes service portals: answers of pods to clients'],
}

export function isJumpComment(target: string, comment: string): boolean {
  return jumpComments[target]?.includes(comment) ?? false
}
