/** A rule as data: what must match, in the order the kernel keeps it, and what happens then. */
import type { Protocol } from '../../../api/records.ts'
import type { ClientHash } from './client-hash.ts'

export interface Rule {
  readonly matches: readonly Match[]
  /** Undefined: the rule only counts, and says something in its comment. */
  readonly target: Target | undefined
}

export type Match =
  | { readonly kind: 'comment'; readonly text: string }
  /** Traffic of a protocol, optionally only that to an address and port. */
  | {
      readonly kind: 'traffic'
      readonly protocol: Protocol
      readonly destination?: string
      readonly destinationPort?: number
      /** Of a range of ports, which begins with `destinationPort`. */
      readonly lastDestinationPort?: number
    }
  | { readonly kind: 'protocol'; readonly protocol: Protocol }
  | { readonly kind: 'source' | 'destination' | 'in-interface'; readonly value: string; readonly isNot?: boolean }
  /** The source or destination is one of this node's own addresses. */
  | { readonly kind: 'local-address'; readonly end: 'source' | 'destination'; readonly isNot?: boolean }
  /** An ipset holds what these ends of the packet say, e.g. `dst,dst` for destination address and port. */
  | { readonly kind: 'ip-set'; readonly name: string; readonly ends: string }
  /** IPVS has taken the packet for this virtual server. */
  | { readonly kind: 'virtual-server'; readonly ip: string; readonly protocol: Protocol; readonly port: number }
  /** It did not come through a port of a bridge. */
  | { readonly kind: 'not-bridged' }
  | { readonly kind: 'connection-state'; readonly states: readonly string[]; readonly isNot?: boolean }
  /** The first packet of a connection, in the older spelling that the userspace mode has. */
  | { readonly kind: 'new-connection' }
  /** It is for a connected socket of this node that uses an address of others. */
  | { readonly kind: 'transparent-socket' }
  | { readonly kind: 'mark'; readonly mark: string; readonly isNot?: boolean }
  | { readonly kind: 'counter'; readonly name: string }
  /** One of this many, which may be a fraction. The last choice needs no rule of chance. */
  | { readonly kind: 'chance'; readonly oneIn: number }
  /** A part of all clients, by a hash of their address: always the same ones. */
  | ({ readonly kind: 'client-share' } & ClientHash)
  /** The source was seen on this list within so many seconds. */
  | { readonly kind: 'seen'; readonly list: string; readonly seconds: number }
  /** Puts the source on the list. */
  | { readonly kind: 'remember'; readonly list: string }

export type Target =
  | { readonly kind: 'jump'; readonly chain: string }
  | { readonly kind: 'accept' | 'drop' | 'reject' | 'return' }
  | { readonly kind: 'dnat'; readonly address: string }
  /** To a port of this node, at the address of the device that the packet came in by. */
  | { readonly kind: 'redirect'; readonly port: number }
  | { readonly kind: 'masquerade'; readonly isRandomFully: boolean }
  | { readonly kind: 'set-mark' | 'clear-mark'; readonly mark: string }

/** A chain of ours with all its rules. */
export interface Chain {
  readonly name: string
  readonly rules: readonly Rule[]
}

export function comment(text: string): Match {
  return { kind: 'comment', text }
}

export function jump(chain: string): Target {
  return { kind: 'jump', chain }
}
