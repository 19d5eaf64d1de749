/** Chains that several modes have under the same names, because other programs know them by these. */
import type { Rule } from './rule.ts'

export type Table = 'filter' | 'nat'

export const topChains = {
  services: 'KUBE-SERVICES',
  externalServices: 'KUBE-EXTERNAL-SERVICES',
  nodePorts: 'KUBE-NODEPORTS',
  forward: 'KUBE-FORWARD',
  firewall: 'KUBE-FIREWALL',
  proxyFirewall: 'KUBE-PROXY-FIREWALL',
  postrouting: 'KUBE-POSTROUTING',
  markMasquerade: 'KUBE-MARK-MASQ',
  canary: 'KUBE-PROXY-CANARY',
} as const

/** What the name of a Service port's own chain begins with; a hash follows. */
export const serviceChainPrefixes = ['KUBE-SVC-', 'KUBE-SVL-', 'KUBE-EXT-', 'KUBE-FW-', 'KUBE-SEP-'] as const

export interface Jump {
  readonly table: Table
  /** A chain of the kernel. */
  readonly from: string
  readonly rule: Rule
}
