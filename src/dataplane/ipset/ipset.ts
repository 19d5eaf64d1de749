/** The one door to the kernel's IP sets. Each implementation passes `ipset.contract.ts`. */
import type { Family } from '../../net/ip.ts'

/** A set to be made. A hash holds at most `maxElements` entries, 65536 unless told otherwise. */
export type IpSet =
  | { readonly name: string; readonly type: 'bitmap:port' }
  | { readonly name: string; readonly type: HashType; readonly family: Family; readonly maxElements?: number }

export type HashType = 'hash:ip' | 'hash:ip,port' | 'hash:ip,port,ip' | 'hash:ip,port,net'

/** A set as the kernel has it. It may be anybody's, so its type is any text. */
export interface ListedSet {
  readonly name: string
  readonly type: string
  /** Undefined for a set that has none, such as a bitmap. */
  readonly family: Family | undefined
  /** In canonical text, as `canonicalEntry` makes it: compare strings. */
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
  /** The version of the tool, such as `7.17`; undefined when no tool is needed here. */
  version(signal: AbortSignal): Promise<string | undefined>
  /** Those of the named sets that exist, with all their entries, in the order of the kernel. */
  list(names: readonly string[], signal: AbortSignal): Promise<readonly ListedSet[]>
  /** Makes the sets. One that is there with the same type and size is fine, another one is refused (`exists`). */
  ensure(sets: readonly IpSet[], signal: AbortSignal): Promise<void>
  /**
   * Carries out the changes in this order, and goes on after one that fails. The errors are returned by the index of
   * the change. An entry that is there already, or gone already, is no error.
   */
  apply(changes: readonly EntryChange[], signal: AbortSignal): Promise<ReadonlyMap<number, IpsetError>>
  /** Exchanges the contents of two sets of the same type at once, for everything that refers to them. */
  swap(first: string, second: string, signal: AbortSignal): Promise<void>
  /** Empties a set. */
  flush(name: string, signal: AbortSignal): Promise<void>
  /** A set that is not there is fine; one that a rule refers to is refused with `in-use`. */
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
