/** How the programs have answered, of all Services of a family together. */
import type { RouteKey } from '../../core/route.ts'
import type { SocketMaps } from './found-tables.ts'
import type { HeldService } from './held.ts'
import { decodeServiceStats, layout } from './layout.ts'
import type { ServiceStats } from './layout.ts'
import type { SocketPlan } from './plan.ts'

const choiceResults = ['translated', 'refused', 'passed', 'retried'] as const

export type ChoiceResult = (typeof choiceResults)[number]

interface LastRead {
  readonly key: RouteKey
  readonly held: HeldService
  readonly results: Readonly<Record<ChoiceResult, number>>
}

/** Never becomes less, although the counts of a Service go with it, and its place begins anew with zero. */
export class SocketChoices {
  readonly #totals: Record<ChoiceResult, number> = { translated: 0, refused: 0, passed: 0, retried: 0 }
  #lastByIndex = new Map<number, LastRead>()

  /** Without maps, what was read last is told. */
  read(
    { routesByKey }: SocketPlan,
    maps: Pick<SocketMaps, 'service_stats'> | undefined,
  ): Readonly<Record<ChoiceResult, number>> {
    const bytes = maps?.service_stats.bytes
    if (bytes === undefined) return { ...this.#totals }
    const byIndex = new Map<number, LastRead>()
    for (const [key, { held }] of routesByKey.entries()) {
      if (held === undefined) continue
      const now = resultsOf(decodeServiceStats(bytes, held.index * layout.serviceStats.size))
      const last = this.#lastByIndex.get(held.index)
      const isSame = last !== undefined && (last.key === key || sharesRecord(last.held, held))
      for (const result of choiceResults) {
        const before = isSame ? last.results[result] : 0
        this.#totals[result] += now[result] - (now[result] < before ? 0 : before)
      }
      byIndex.set(held.index, { key, held, results: now })
    }
    this.#lastByIndex = byIndex
    return { ...this.#totals }
  }
}

/** A Service that was renamed while syncs failed is found where it was. No generation is given twice. */
function sharesRecord(one: HeldService, other: HeldService): boolean {
  const generations = new Set(Array.from(one.recordsByAddress.values(), ({ generation }) => generation))
  for (const { generation } of other.recordsByAddress.values()) if (generations.has(generation)) return true
  return false
}

function resultsOf({ connections, refused, passed, retries }: ServiceStats): Readonly<Record<ChoiceResult, number>> {
  return { translated: connections, refused, passed, retried: retries }
}
