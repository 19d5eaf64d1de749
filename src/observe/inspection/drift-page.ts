/** `/debug/drift`: what others did to what was programmed, and how long it took to repair it. */
import type { Comparison } from '../../core/backend.ts'
import type { DriftMemory } from '../../core/sync/drift-memory.ts'
import type { Family } from '../../net/ip.ts'
import { refused } from '../http/debug/debug-page.ts'
import type { DebugPage } from '../http/debug/debug-page.ts'
import { familiesAsked, isAsked } from './asked.ts'
import type { InspectedFamily } from './inspected-family.ts'
import type { PacedReading } from './paced-reading.ts'

interface DriftAnswer {
  /** Since the process began. */
  readonly total: number
  /** The last hundred, newest first. */
  readonly drift: readonly {
    readonly at: string
    readonly family: Family
    readonly found: string
    readonly times: number
    /** Null: not yet. */
    readonly repairedAfterSeconds: number | null
  }[]
  /** Only with `?now=1`. */
  readonly now?: readonly ({ readonly family: Family } & (Comparison | { readonly kind: 'nothing to compare' }))[]
}

export interface DriftPageOptions {
  readonly families: readonly Pick<InspectedFamily, 'family' | 'compare'>[]
  readonly memory: Pick<DriftMemory, 'last' | 'total'>
  readonly reading: PacedReading
}

export function driftPage({ families, memory, reading }: DriftPageOptions): DebugPage {
  return {
    path: '/debug/drift',
    about: 'what others changed, and how long it took to repair it; ?now=1 compares everything now, ?family=ipv4',
    async answer({ query }, signal) {
      const chosen = familiesAsked(families, query)
      if (typeof chosen === 'string') return refused(400, chosen)
      const names = new Set(chosen.map(({ family }) => family))
      const value: DriftAnswer = {
        total: memory.total,
        drift: memory.last
          .filter(({ family }) => names.has(family))
          .map(({ atMs, family, found, times, repairedAfterMs }) => ({
            at: new Date(atMs).toISOString(),
            family,
            found,
            times,
            repairedAfterSeconds: repairedAfterMs === undefined ? null : Math.round(repairedAfterMs) / 1000,
          })),
        ...(isAsked(query, 'now') && { now: await compareNow(chosen, reading, signal) }),
      }
      return { kind: 'json', value }
    },
  }
}

async function compareNow(
  families: DriftPageOptions['families'],
  reading: PacedReading,
  signal: AbortSignal,
): Promise<NonNullable<DriftAnswer['now']>> {
  const compared: NonNullable<DriftAnswer['now']>[number][] = []
  for (const each of families) {
    const { family } = each
    const comparison = await reading.run(() => each.compare(signal), signal)
    compared.push({ family, ...(comparison ?? { kind: 'nothing to compare' }) })
  }
  return compared
}
