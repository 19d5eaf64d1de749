import type { KernelState } from './kernel-state.ts'
import type { Table } from './kube-chains.ts'

/** The order between Services in a shared chain means nothing, so these chains are compared as bags of rules. */
export class SharedRulesComparison {
  readonly #countsByPlace = new Map<string, { table: Table; chain: string; counts: Map<string, number> }>()

  constructor(chains: readonly { readonly table: Table; readonly chain: string }[]) {
    for (const { table, chain } of chains) this.#place(table, chain)
  }

  add(table: Table, chain: string, rule: string): void {
    const { counts } = this.#place(table, chain)
    counts.set(rule, (counts.get(rule) ?? 0) + 1)
  }

  /** The first thing that differs. */
  compare(state: KernelState): string | undefined {
    for (const { table, chain, problem } of this.problems(state)) return `chain ${table}/${chain} ${problem}`
    return undefined
  }

  /** What is wrong with each chain, by one example. It uses the counts up, so it answers once. */
  *problems(state: KernelState): Generator<{ table: Table; chain: string; problem: string }> {
    for (const { table, chain, counts } of this.#countsByPlace.values()) {
      const problem = problemOf(state[table].get(chain), counts)
      if (problem !== undefined) yield { table, chain, problem }
    }
  }

  #place(table: Table, chain: string): { readonly counts: Map<string, number> } {
    const id = `${table} ${chain}`
    const known = this.#countsByPlace.get(id)
    if (known !== undefined) return known
    const place = { table, chain, counts: new Map<string, number>() }
    this.#countsByPlace.set(id, place)
    return place
  }
}

function problemOf(rules: readonly string[] | undefined, counts: Map<string, number>): string | undefined {
  if (rules === undefined) return 'is missing'
  for (const rule of rules) counts.set(rule, (counts.get(rule) ?? 0) - 1)
  for (const [rule, count] of counts) if (count !== 0) return `${count > 0 ? 'lacks' : 'has a foreign rule'}: ${rule}`
  return undefined
}
