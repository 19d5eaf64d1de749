/** Chains whose rules do not depend on any Service. */
import type { Chain, Match, Rule } from '../../dataplane/iptables/language/rule.ts'
import { comment, jump } from '../../dataplane/iptables/language/rule.ts'
import type { IptablesSettings } from './settings.ts'
import {
  forwardChain,
  loopbackRange,
  markMasqueradeChain,
  postroutingChain,
} from '../../dataplane/iptables/language/masquerade-chains.ts'
import { topChains } from '../../dataplane/iptables/language/kube-chains.ts'
import type { Table } from '../../dataplane/iptables/language/kube-chains.ts'

/**
 * With node ports on localhost the kernel routes 127.0.0.0/8 like other addresses; this keeps other machines out. Where
 * there is nothing to guard, the chain is the kubelet's alone.
 */
export function firewallChain({ hasLocalhostNodePorts }: IptablesSettings): Chain | undefined {
  if (!hasLocalhostNodePorts) return undefined
  const { ipv4: loopback } = loopbackRange
  return {
    name: topChains.firewall,
    rules: [
      {
        matches: [
          comment('block incoming localnet connections'),
          { kind: 'destination', value: loopback },
          { kind: 'source', value: loopback, isNot: true },
          { kind: 'connection-state', states: ['RELATED', 'ESTABLISHED', 'DNAT'], isNot: true },
        ],
        target: { kind: 'drop' },
      },
    ],
  }
}

/** All of them, with their tables. */
export function fixedChains(settings: IptablesSettings): readonly { readonly table: Table; readonly chain: Chain }[] {
  const firewall = firewallChain(settings)
  return [
    { table: 'filter', chain: forwardChain(settings) },
    ...(firewall === undefined ? [] : [{ table: 'filter' as const, chain: firewall }]),
    { table: 'nat', chain: postroutingChain(settings) },
    { table: 'nat', chain: markMasqueradeChain(settings) },
  ]
}

/** The end of nat/KUBE-SERVICES: whatever no Service address has claimed may be for a node port. */
export function nodePortTail(settings: IptablesSettings): readonly Rule[] {
  const note = comment('kubernetes service nodeports; NOTE: this must be the last rule in this chain')
  const target = jump(topChains.nodePorts)
  const { family, hasLocalhostNodePorts, nodePortIps } = settings
  if (nodePortIps !== undefined)
    return nodePortIps.map((value) => ({ matches: [note, { kind: 'destination', value }], target }))
  const matches: Match[] = [note, { kind: 'local-address', end: 'destination' }]
  if (!hasLocalhostNodePorts) matches.push({ kind: 'destination', value: loopbackRange[family], isNot: true })
  return [{ matches, target }]
}
