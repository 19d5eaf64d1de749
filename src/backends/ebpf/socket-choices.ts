/** How the programs have answered, of all Services of a family together. */
import type { SocketMaps } from './found-tables.ts'
import { decodeServiceStats, layout } from './layout.ts'
import type { ServiceStats } from './layout.ts'
import type { SocketPlan } from './plan.ts'

const choiceResults = ['translated', 'refused', 'passed', 'retried'] as const

export type ChoiceResult = (typeof choiceResults)[number]

/** Never becomes less, although the counts of a Service go with it, and its place begins anew with zero. */
export class SocketChoices {
  readonly #totals: Record<ChoiceResult, number> = { translated: 0, refused: 0, passed: 0, retried: 0 }
  #lastByIndex = new Map<number, Readonly<Record<ChoiceResult, number>>>()

  /** Without maps, what was read last is told. */
  read(
    { routesByKey }: SocketPlan,
    maps: Pick<SocketMaps, 'service_stats'> | undefined,
  ): Readonly<Record<ChoiceResult, number>> {
    const bytes = maps?.service_stats.bytes
    // Without bytes: the process is about to end, and has let go of the map.
    if (bytes === undefined || bytes.length === 0) return { ...this.#totals }
    const byIndex = new Map<number, Readonly<Record<ChoiceResult, number>>>()
    for (const { held } of routesByKey.values()) {
      if (held === undefined) continue
      const now = resultsOf(decodeServiceStats(bytes, held.index * layout.serviceStats.size))
      const last = this.#lastByIndex.get(held.index)
      for (const result of choiceResults) {
        const before = last?.[result] ?? 0
        this.#totals[result] += now[result] - (now[result] < before ? 0 : before)
      }
      byIndex.set(held.index, now)
    }
    this.#lastByIndex = byIndex
    return { ...this.#totals }
  }
}

function resultsOf({ connections, refused, passed, retries }: ServiceStats): Readonly<Record<ChoiceResult, number>> {
  return { translated: connections, refused, passed, retried: retries }
}
