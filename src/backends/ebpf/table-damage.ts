/** What somebody else did to the tables, to the programs and to their pins. Whoever asks has the turn to write, for each step of a look. */
import type { Clock } from '../../core/clock.ts'
import type { Bpf } from '../../dataplane/ebpf/bpf.ts'
import type { Family } from '../../net/ip.ts'
import type { HookLinks } from './hook-links.ts'
import type { TablesOwner } from './tables-owner.ts'
import { lastOf } from './tables.ts'
import type { SocketTables } from './tables.ts'

export interface TableDamageOptions {
  readonly bpf: Bpf
  readonly links: HookLinks
  readonly owner: TablesOwner
  readonly clock: Pick<Clock, 'monotonic'>
}

export class TableDamage {
  readonly #options: TableDamageOptions
  /** Somebody changed the tables, and this family has not repaired them yet. */
  readonly #suspects = new Map<Family, string>()
  /** All was well then, as far as is known. */
  #comparedAtMs = -Infinity

  constructor(options: TableDamageOptions) {
    this.#options = options
  }

  /** It must look for itself: another family has seen this, and what is there becomes what is right. */
  suspect(family: Family, what: string): void {
    this.#suspects.set(family, what)
  }

  suspicionOf(family: Family): string | undefined {
    return this.#suspects.get(family)
  }

  noteRepaired(family: Family): void {
    this.#suspects.delete(family)
  }

  /** Programs and pins: a few questions. */
  async findDetached(tables: SocketTables): Promise<string | undefined> {
    const { bpf, links } = this.#options
    const missing = await tables.missingPin(bpf)
    return missing === undefined ? links.findDrift(bpf) : `the pin of the map ${missing} is gone`
  }

  findDifference(tables: SocketTables, family: Family): Promise<string | undefined> {
    return lastOf(this.look(tables, family, 0))
  }

  /** Reads all tables, unless that was begun within `pauseMs` and all was well. Between two steps others may write. */
  async *look(tables: SocketTables, family: Family, pauseMs: number): AsyncGenerator<undefined, string | undefined> {
    const { owner, clock } = this.#options
    const now = clock.monotonic()
    if (this.#suspects.has(family)) return this.#suspects.get(family)
    if (now - this.#comparedAtMs < pauseMs) return undefined
    if (owner.configSteps(tables.maps).length > 0) return 'the map config was changed'
    // Nobody else needs to look meanwhile.
    this.#comparedAtMs = now
    let isWell = false
    try {
      const found = yield* tables.look()
      isWell = found === undefined
      return found
    } finally {
      if (!isWell) this.#comparedAtMs = -Infinity
    }
  }
}
