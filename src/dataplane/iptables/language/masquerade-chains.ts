/** How packets are marked, masqueraded and let through: the same chains in every mode that uses iptables. */
import type { Family } from '../../../net/ip.ts'
import { counterNames } from './counters.ts'
import type { Counters } from './counters.ts'
import { topChains } from './kube-chains.ts'
import { comment } from './rule.ts'
import type { Chain, Match, Rule } from './rule.ts'

export interface Masquerading {
  /** The bit as text, e.g. `0x00004000`. */
  readonly masqueradeMark: string
  /** MASQUERADE understands --random-fully. */
  readonly hasRandomFully: boolean
}

export interface Forwarding extends Pick<Masquerading, 'masqueradeMark'> {
  /** Packets in state INVALID are dropped. */
  readonly dropsInvalid: boolean
  readonly counters: Counters
}

export const loopbackRange: Readonly<Record<Family, string>> = { ipv4: '127.0.0.0/8', ipv6: '::1/128' }

/** The mark is taken off before the source is rewritten, so that a packet that comes around again is not hit twice. */
export function postroutingChain({ masqueradeMark: mark, hasRandomFully }: Masquerading): Chain {
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

export function markMasqueradeChain({ masqueradeMark: mark }: Pick<Masquerading, 'masqueradeMark'>): Chain {
  return { name: topChains.markMasquerade, rules: [{ matches: [], target: { kind: 'set-mark', mark } }] }
}

/** Lets masqueraded connections through a FORWARD policy of DROP. */
export function forwardChain({ masqueradeMark: mark, dropsInvalid, counters }: Forwarding): Chain {
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
