/**
 * Finds out which chains of legacy tables changed. Reading the sizes of the tables is cheap. When a size changed, it reads
 * the bytes to see which chains did. It also reads them now and then, because a rule may be replaced by one of the same
 * length.
 */
import type { Clock } from '../../core/clock.ts'
import type { Family } from '../../net/ip.ts'
import type { ChainPath, Table } from './iptables.ts'
import { chainDigests } from './legacy-chain-digests.ts'
import { LegacyTables } from './legacy-tables.ts'
import type { SocketCalls } from './legacy-tables.ts'
import type { ChangedChains, ChainChanges } from './chain-changes.ts'

/**
 * Reading the bytes takes 0.3 s for 10,000 Services with four endpoints. With a pause of twelve times that, a change is
 * still noticed within 5 s. On larger nodes the pauses are longer, so that the share of CPU time stays the same.
 */
export const readAgain = { timesCost: 12, leastMs: 3_000 }

/** A table when its bytes were last read. */
interface Known {
  readonly info: string
  readonly digests: ReadonlyMap<string, number>
  readonly readAgainAtMs: number
  /** Chains that we changed since then ourselves. */
  readonly own: Set<ChainPath>
}

export class LegacyChainChanges implements ChainChanges {
  readonly isCheap = true
  readonly isExact = true
  readonly #kernel: LegacyTables
  readonly #family: Family
  readonly #tables: readonly Table[]
  readonly #clock: Clock
  readonly #knownByTable = new Map<Table, Known>()

  constructor(libc: SocketCalls, family: Family, tables: readonly Table[], clock: Clock) {
    this.#kernel = new LegacyTables(libc, family)
    this.#family = family
    this.#tables = tables
    this.#clock = clock
  }

  async take(): Promise<ChangedChains> {
    const touched = new Set<ChainPath>()
    let isAny = false
    for (const table of this.#tables) isAny = !(await this.#readTable(table, touched)) || isAny
    return isAny ? 'any' : touched
  }

  async takeAfterOwnWrite(own: ReadonlySet<ChainPath>): Promise<ChangedChains> {
    for (const table of this.#tables) {
      const known = this.#knownByTable.get(table)
      if (known === undefined) continue
      for (const path of own) known.own.add(path)
      this.#knownByTable.set(table, { ...known, info: this.#kernel.info(table)?.toString('base64') ?? '' })
    }
    return new Set()
  }

  async withoutListening<T>(work: () => Promise<T>): Promise<T> {
    this.#knownByTable.clear()
    return work()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#kernel[Symbol.dispose]()
  }

  /** Returns false if it is not known which chains changed. */
  async #readTable(table: Table, touched: Set<ChainPath>): Promise<boolean> {
    const known = this.#knownByTable.get(table)
    const info = this.#kernel.info(table)
    const startedAtMs = this.#clock.monotonic()
    const infoText = info?.toString('base64') ?? ''
    if (known?.info === infoText && startedAtMs < known.readAgainAtMs) return true
    const digests = info === undefined ? new Map<string, number>() : await this.#digests(table, info)
    if (digests === undefined) {
      // The table changed between reading its size and its bytes.
      this.#knownByTable.delete(table)
      return false
    }
    const now = this.#clock.monotonic()
    const readAgainAtMs = now + Math.max(readAgain.leastMs, readAgain.timesCost * (now - startedAtMs))
    this.#knownByTable.set(table, { info: infoText, digests, readAgainAtMs, own: new Set() })
    if (known === undefined) return false
    for (const chain of new Set([...known.digests.keys(), ...digests.keys()])) {
      const path: ChainPath = `${table}/${chain}`
      if (known.digests.get(chain) !== digests.get(chain) && !known.own.has(path)) touched.add(path)
    }
    return true
  }

  #digests(table: Table, info: Buffer): Promise<ReadonlyMap<string, number> | undefined> {
    return this.#kernel.read(table, info, (entries) => chainDigests(entries, this.#family))
  }
}
