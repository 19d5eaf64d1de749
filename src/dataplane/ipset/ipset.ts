/** The interface to the kernel's IP sets. Each implementation passes `ipset.contract.ts`. */
import type { Family } from '../../net/ip.ts'
import { controlCharacterIn } from '../control-characters.ts'

/** A set to be made. `maxElements` is 65536 by default. */
export type IpSet =
  | { readonly name: string; readonly type: 'bitmap:port' }
  | { readonly name: string; readonly type: HashType; readonly family: Family; readonly maxElements?: number }

export type HashType = 'hash:ip' | 'hash:ip,port' | 'hash:ip,port,ip' | 'hash:ip,port,net'

/** A set that the kernel has. Another program may have made it, so its type may be any text. */
export interface ListedSet {
  readonly name: string
  readonly type: string
  /** A bitmap has no family. */
  readonly family: Family | undefined
  /** Canonical text, as `canonicalEntry` makes it. */
  readonly entries: ReadonlySet<string>
}

/** `10.96.0.10`, `10.96.0.10,tcp:80`, `10.64.0.1,tcp:80,10.64.0.1`, `10.96.0.10,tcp:80,192.0.2.0/24`, or `30080`. */
export interface EntryChange {
  readonly kind: 'add' | 'delete'
  readonly set: string
  readonly entry: string
}

/** Every method rejects with an IpsetError. */
export interface Ipset {
  /** The version of the tool, such as `7.17`, if there is a tool. */
  version(signal: AbortSignal): Promise<string | undefined>
  /** The sets of these names that exist, with all their entries, in the order of the kernel. */
  list(names: readonly string[], signal: AbortSignal): Promise<readonly ListedSet[]>
  /** Makes the sets that are missing. A set of the same name but another type or size is refused with `exists`. */
  ensure(sets: readonly IpSet[], signal: AbortSignal): Promise<void>
  /**
   * Makes the changes in this order, and continues after one that fails. Errors are returned by the index of the change.
   * It is no error to add an entry that is there, or to delete one that is not.
   */
  apply(changes: readonly EntryChange[], signal: AbortSignal): Promise<ReadonlyMap<number, IpsetError>>
  /** Exchanges the contents of two sets of the same type in one step, so that rules never see half of it. */
  swap(first: string, second: string, signal: AbortSignal): Promise<void>
  flush(name: string, signal: AbortSignal): Promise<void>
  /** Does nothing if there is no such set. A set that a rule refers to is refused with `in-use`. */
  destroy(name: string, signal: AbortSignal): Promise<void>
}

export type IpsetReason =
  'tool-missing' | 'module-missing' | 'not-permitted' | 'not-found' | 'exists' | 'in-use' | 'full' | 'refused'

export class IpsetError extends Error {
  override readonly name = 'IpsetError'
  /** `exists`: a set of this name has another type or other parameters. `full`: a set takes no more entries. */
  readonly reason: IpsetReason

  constructor(reason: IpsetReason, message: string, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
  }
}

/** Names are passed to the tool as they are. Entries need no check: they are parsed and written again. */
export function assertSetName(name: string): void {
  const problem = controlCharacterIn(name)
  if (problem !== undefined) throw new IpsetError('refused', `this cannot be the name of a set: ${problem}`)
}
