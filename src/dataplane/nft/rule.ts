/** A rule as data: statements in the order the kernel runs them; the first that does not match ends the rule. */
import type { Protocol } from '../../api/records.ts'

export interface Rule {
  readonly statements: readonly Statement[]
  readonly comment?: string
}

/** A part of the packet. */
export type Field = 'source' | DestinationField

/** What says where the packet goes. */
export type DestinationField = 'destination' | 'protocol' | 'port'

export type Statement = Match | Effect

type Match =
  | { readonly kind: 'new connection' }
  /** This proxy, or another, has given the connection its endpoint. */
  | { readonly kind: 'translated' }
  | { readonly kind: 'in set'; readonly fields: readonly Field[]; readonly set: string; readonly isNot?: boolean }
  | { readonly kind: 'source' | 'destination'; readonly cidr: string; readonly isNot?: boolean }
  | { readonly kind: 'destination is not loopback' }
  /** The name may end in `*`. */
  | { readonly kind: 'in interface'; readonly name: string; readonly isNot?: boolean }
  /** The address is one of this node's own. */
  | { readonly kind: 'is local'; readonly end: 'source' | 'destination'; readonly isNot?: boolean }
  | { readonly kind: 'marked'; readonly mark: string }
  | { readonly kind: 'protocol'; readonly protocol: Protocol }
  /** Matches `hits` of `of` times. */
  | { readonly kind: 'chance'; readonly hits: number; readonly of: number }
  /**
   * With this connection, more than `most` of those that the set remembers are open. It puts the connection there, too, so
   * a packet may be asked once; the kernel forgets those that ended, or were never let through.
   */
  | { readonly kind: 'open connections over'; readonly most: number; readonly set: string }
  /** More come than this; as many may come at once. The rule counts, whoever comes. */
  | { readonly kind: 'dials over'; readonly perSecond: number }

type Effect =
  | { readonly kind: 'set mark' | 'clear mark'; readonly mark: string }
  /** Puts the source into the set, for as long as the set keeps its elements. */
  | { readonly kind: 'remember source'; readonly set: string }
  /** Does what the map says about these fields; goes on when it says nothing. */
  | { readonly kind: 'look up verdict'; readonly fields: readonly Field[]; readonly map: string }
  | DnatByMap
  /** Without a port, that of the packet stays. */
  | { readonly kind: 'dnat'; readonly ip: string; readonly port?: number }
  | { readonly kind: 'jump' | 'goto'; readonly chain: string }
  /** Nothing remembers the packet's connection, so nothing translates its addresses. Before connections are looked up only. */
  | { readonly kind: 'do not track' }
  /** `reset` is for TCP only. */
  | { readonly kind: 'drop' | 'reject' | 'reset' | 'masquerade' }

/** Sends the connection where the map says for these fields and an index below `choices`. */
export interface DnatByMap {
  readonly kind: 'dnat by map'
  readonly fields: readonly DestinationField[]
  readonly choices: number
  readonly by: IndexBy
  readonly map: string
  /** The map has ranges of ports, and says addresses only: the port stays what it is. */
  readonly keepsPort?: boolean
}

export type IndexBy =
  /** Any, with equal chance. */
  | 'chance'
  /** From 0 upwards and again from 0. The rule counts, whoever comes. */
  | 'turn'
  /** The address of the client. */
  | 'source'
  /** Its address and port. */
  | 'flow'

/** What clients are hashed with. The same in every kernel, so that all nodes choose alike. */
export const hashSeed = 0x46616972

export function rule(...statements: readonly Statement[]): Rule {
  return { statements }
}

export function commentedRule(comment: string, ...statements: readonly Statement[]): Rule {
  return { comment, statements }
}
