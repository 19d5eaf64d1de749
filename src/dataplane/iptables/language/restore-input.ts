/** The input of `iptables-restore --noflush`: chain lines first, so that every jump finds its chain, then rules. */
import type { ChainPath } from '../iptables.ts'
import type { RenderedChain } from './rendered-chain.ts'

export type RestoreTable = 'mangle' | 'filter' | 'nat'

interface TableInput {
  readonly chains: string[]
  /**
   * Pieces of lines, which nobody joins: a large cluster has more than a hundred thousand lines, and most of them need
   * no string of their own.
   */
  readonly rules: string[]
  /** Chains with rules that come or go one by one. */
  readonly edited: Set<string>
  added: number
}

/** An input that is complete. */
export interface RestoreScript {
  readonly isEmpty: boolean
  /** How many rules it adds; deletions do not count. */
  addedRules(table: RestoreTable): number
  /** Every chain that it changes. */
  touchedChains(): ReadonlySet<ChainPath>
  /** Not put together: the text of a large cluster has 15 MB, and most of it is in memory already, chain by chain. */
  pieces(): readonly string[]
  render(): string
}

export class RestoreInput implements RestoreScript {
  readonly #tables: Readonly<Record<RestoreTable, TableInput>> = {
    mangle: { chains: [], rules: [], edited: new Set(), added: 0 },
    filter: { chains: [], rules: [], edited: new Set(), added: 0 },
    nat: { chains: [], rules: [], edited: new Set(), added: 0 },
  }

  get isEmpty(): boolean {
    return Object.values(this.#tables).every(({ chains, rules }) => chains.length === 0 && rules.length === 0)
  }

  addedRules(table: RestoreTable): number {
    return this.#tables[table].added
  }

  touchedChains(): ReadonlySet<ChainPath> {
    const touched = new Set<ChainPath>()
    for (const table of ['mangle', 'filter', 'nat'] as const) {
      const { chains, edited } = this.#tables[table]
      for (const names of [chains, edited]) for (const chain of names) touched.add(`${table}/${chain}`)
    }
    return touched
  }

  /** Makes the chain if it is missing, and empties it. */
  declare(table: RestoreTable, chain: string): void {
    this.#tables[table].chains.push(chain)
  }

  fill(table: RestoreTable, { name, lines, ruleCount }: RenderedChain): void {
    this.declare(table, name)
    this.#tables[table].rules.push(lines)
    this.#tables[table].added += ruleCount
  }

  append(table: RestoreTable, chain: string, rule: string): void {
    this.#write(table, '-A ', chain, rule)
    this.#tables[table].added++
  }

  /** On top of the chain. */
  insert(table: RestoreTable, chain: string, rule: string): void {
    this.#write(table, '-I ', chain, rule)
    this.#tables[table].added++
  }

  /** A jump from a chain of the kernel; it is not counted, because it is there once and for all. */
  insertJump(table: RestoreTable, chain: string, rule: string): void {
    this.#write(table, '-I ', chain, rule)
  }

  /** As above, for what must come after the rules of others. */
  appendJump(table: RestoreTable, chain: string, rule: string): void {
    this.#write(table, '-A ', chain, rule)
  }

  delete(table: RestoreTable, chain: string, rule: string): void {
    this.#write(table, '-D ', chain, rule)
  }

  /** The chain line empties it first: a chain with rules cannot be deleted. */
  deleteChain(table: RestoreTable, chain: string): void {
    this.declare(table, chain)
    this.#tables[table].rules.push('-X ', chain, '\n')
  }

  render(): string {
    return this.pieces().join('')
  }

  pieces(): readonly string[] {
    let pieces: readonly string[] = []
    for (const [table, { chains, rules }] of Object.entries(this.#tables)) {
      if (chains.length === 0 && rules.length === 0) continue
      pieces = pieces.concat(`*${table}\n`, chainLines(chains), rules, 'COMMIT\n')
    }
    return pieces
  }

  #write(table: RestoreTable, command: string, chain: string, rule: string): void {
    this.#tables[table].rules.push(command, chain, ' ', rule, '\n')
    this.#tables[table].edited.add(chain)
  }
}

/**
 * iptables-legacy-restore keeps its chains in a sorted list and walks towards the place of a new one. With 50,000 new
 * chains it takes a third less time when each goes to the front, so the last name comes first.
 */
function chainLines(chains: readonly string[]): string {
  if (chains.length === 0) return ''
  const names = [...chains].sort().reverse()
  return `:${names.join(' - [0:0]\n:')} - [0:0]\n`
}
