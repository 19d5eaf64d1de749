/** Chains whose rules do not depend on any Service. */
import type { Family } from '../../net/ip.ts'
import type { Chain, Match, Rule } from './rule.ts'
import { comment, jump } from './rule.ts'
import type { IptablesSettings } from './settings.ts'
import { counterNames } from './settings.ts'
import { topChains } from './top-chains.ts'
import type { Table } from './top-chains.ts'

export const loopbackRange: Readonly<Record<Family, string>> = { ipv4: '127.0.0.0/8', ipv6: '::1/128' }

/** The mark is taken off before the source is rewritten, so that a packet that comes around again is not hit twice. */
export function postroutingChain({
  masqueradeMark: mark,
  hasRandomFully,
}: Pick<IptablesSettings, 'masqueradeMark' | 'hasRandomFully'>): Chain {
  return {
    name: topChains.postrouting,
    rules: [
      { matches: [{ kind: 'mark', mark, isNot: true }], target: { kind: 'return' } },
      { matches: [], target: { kind: 'clear-mark', mark } },
      {
        matches: [comment('kubernetes service traffic requiring SNAT')],
        target: { kind: 'masquerade', isRandomFully: hasRandomFully },
      },
    ],
  }
}

export function markMasqueradeChain({ masqueradeMark: mark }: Pick<IptablesSettings, 'masqueradeMark'>): Chain {
  return { name: topChains.markMasquerade, rules: [{ matches: [], target: { kind: 'set-mark', mark } }] }
}

/** Lets masqueraded connections through a FORWARD policy of DROP. */
export function forwardChain({
  masqueradeMark: mark,
  dropsInvalid,
  counters,
}: Pick<IptablesSettings, 'masqueradeMark' | 'dropsInvalid' | 'counters'>): Chain {
  const invalid: Match[] = [{ kind: 'connection-state', states: ['INVALID'] }]
  if (counters.invalidDropped) invalid.push({ kind: 'counter', name: counterNames.invalidDropped })
  const accept: readonly Rule[] = [
    { matches: [comment('kubernetes forwarding rules'), { kind: 'mark', mark }], target: { kind: 'accept' } },
    {
      matches: [
        comment('kubernetes forwarding conntrack rule'),
        { kind: 'connection-state', states: ['RELATED', 'ESTABLISHED'] },
      ],
      target: { kind: 'accept' },
    },
  ]
  const drop: Rule = { matches: invalid, target: { kind: 'drop' } }
  return { name: topChains.forward, rules: dropsInvalid ? [drop, ...accept] : accept }
}

/**
 * With node ports on localhost the kernel routes 127.0.0.0/8 like other addresses; this keeps the neighbours out.
 * Undefined when there is nothing to guard: the chain is then the kubelet's alone.
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
