/** The chains of the portals. Five are those of kube-proxy's old userspace mode; the last three are Fairlead's own. */
import type { Table } from '../../../dataplane/iptables/language/kube-chains.ts'

export const portalChains = {
  /** Service addresses, for what arrives at the node; and for what the node itself sends. */
  portalsContainer: 'KUBE-PORTALS-CONTAINER',
  portalsHost: 'KUBE-PORTALS-HOST',
  nodePortContainer: 'KUBE-NODEPORT-CONTAINER',
  nodePortHost: 'KUBE-NODEPORT-HOST',
  /** Lets clients of node ports through to the proxy ports. */
  nodePortNonLocal: 'KUBE-NODEPORT-NON-LOCAL',
  /** Who may not reach a proxy port: those who came around the portals, and all while there is no endpoint. */
  ports: 'KUBE-PORTALS-PORTS',
  /** Load-balancer addresses for which the source was not allowed. */
  firewall: 'KUBE-PORTALS-FIREWALL',
  /** What pods answer to clients whose address the relay uses; only there while a Service wants that. */
  answers: 'KUBE-PORTALS-ANSWERS',
} as const

/** Those that are always there. */
export const placedChains: readonly { readonly table: Table; readonly chain: string }[] = [
  { table: 'filter', chain: portalChains.nodePortNonLocal },
  { table: 'filter', chain: portalChains.ports },
  { table: 'filter', chain: portalChains.firewall },
  { table: 'nat', chain: portalChains.portalsContainer },
  { table: 'nat', chain: portalChains.portalsHost },
  { table: 'nat', chain: portalChains.nodePortContainer },
  { table: 'nat', chain: portalChains.nodePortHost },
]
