/** The syncs that the page has heard of, for its charts. */
import type { SyncInShort, SyncsChange } from '../../../src/observe/console/wire.ts'

export interface SyncAt extends SyncInShort {
  readonly atMs: number
}

export interface SyncSummary {
  readonly count: number
  readonly failures: number
  readonly medianMs: number
  readonly slowestMs: number
}

/** Many a second for minutes would be more than a chart has pixels. */
const most = 2_000

/** With what a stream says. Its first message has those that the server still knows; older ones were heard before. */
export function withSyncs(known: readonly SyncAt[], { isFirst, syncs }: SyncsChange): readonly SyncAt[] {
  const told = syncs.map((sync) => ({ ...sync, atMs: Date.parse(sync.startedAt) }))
  if (isFirst !== true) return [...known, ...told].slice(-most)
  const ids = new Set(told.map(({ traceId }) => traceId))
  const all = [...known.filter(({ traceId }) => !ids.has(traceId)), ...told]
  return all.sort((a, b) => a.atMs - b.atMs).slice(-most)
}

export function familiesIn(syncs: readonly SyncAt[]): readonly string[] {
  return [...new Set(syncs.map(({ family }) => family))].sort()
}

export function summaryOf(syncs: readonly SyncAt[]): SyncSummary | undefined {
  const sorted = syncs.map(({ durationMs }) => durationMs).sort((a, b) => a - b)
  const medianMs = sorted[Math.floor((sorted.length - 1) / 2)]
  const slowestMs = sorted.at(-1)
  if (medianMs === undefined || slowestMs === undefined) return undefined
  return {
    count: sorted.length,
    failures: syncs.filter(({ error }) => error !== undefined).length,
    medianMs,
    slowestMs,
  }
}

/** Times in seconds, and one row per family, as a chart wants them: the slowest sync of each moment. */
export function latencies(
  syncs: readonly SyncAt[],
  families: readonly string[],
  sinceMs: number,
): readonly [times: number[], ...values: (number | null)[][]] {
  const slowest = new Map<number, Map<string, number>>()
  for (const { atMs, family, durationMs } of syncs) {
    if (atMs < sinceMs) continue
    const second = Math.floor(atMs / 1_000)
    const here = slowest.get(second) ?? new Map<string, number>()
    slowest.set(second, here.set(family, Math.max(durationMs, here.get(family) ?? 0)))
  }
  const times = [...slowest.keys()].sort((a, b) => a - b)
  return [times, ...families.map((family) => times.map((second) => slowest.get(second)?.get(family) ?? null))]
}
