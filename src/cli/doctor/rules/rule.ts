/** Rules of other programs, as far as they can be understood: enough to say what happens to the first packet of a connection. */
import type { Family } from '../../../net/ip.ts'

export type Verdict =
  /** `untrack`: the kernel does not track it, and then does not translate it either. */
  | { readonly kind: 'accept' | 'drop' | 'reject' | 'translate' | 'untrack' | 'return' | 'continue' }
  | { readonly kind: 'jump' | 'goto'; readonly chain: string }
  /** From here on the rules are those of a proxy. */
  | { readonly kind: 'ours' }

/** All of the conditions of a rule must hold. Several values mean any of them. */
export type Condition =
  | { readonly kind: 'family'; readonly family: Family }
  /** First and last address. */
  | { readonly kind: 'destination'; readonly ranges: readonly AddressRange[]; readonly isNegated: boolean }
  /** An address of this node. */
  | { readonly kind: 'local-destination'; readonly isNegated: boolean }
  | { readonly kind: 'protocol'; readonly names: readonly string[]; readonly isNegated: boolean }
  | { readonly kind: 'port'; readonly ranges: readonly PortRange[]; readonly isNegated: boolean }
  | { readonly kind: 'state'; readonly names: readonly string[]; readonly isNegated: boolean }
  /** Its destination has been translated. */
  | { readonly kind: 'translated'; readonly isNegated: boolean }
  /** Comes in, or goes out, through loopback. */
  | { readonly kind: 'loopback-device'; readonly isNegated: boolean }
  /** Something about the packet that is not known here: its source, a device, a mark. */
  | { readonly kind: 'unknown' }

export interface AddressRange {
  readonly family: Family
  readonly first: bigint
  readonly last: bigint
}

export type PortRange = readonly [first: number, last: number]

export interface Rule {
  /** As its tool prints it. */
  readonly text: string
  readonly conditions: readonly Condition[]
  readonly verdict: Verdict
}

/** Rules that the kernel calls at one of its hooks. */
export interface HookedChain {
  /** For people: `nft table inet firewalld`, `iptables-legacy table nat`. */
  readonly place: string
  readonly chain: string
  readonly hook: Hook
  readonly type: string
  readonly priority: number
  readonly policy: string
  readonly families: readonly Family[]
  readonly rulesByChain: ReadonlyMap<string, readonly Rule[]>
}

export type Hook = 'prerouting' | 'input' | 'forward' | 'output' | 'postrouting'

export const hooks: readonly Hook[] = ['prerouting', 'input', 'forward', 'output', 'postrouting']
