/** The last syncs and the slowest ones, kept in memory whether or not anybody collects traces. */
import type { SpanRecord, TraceSink } from '../../core/trace.ts'
import { spansIn } from './open-tree.ts'
import { plainRecord } from './plain-record.ts'

export interface SyncHistoryLimits {
  readonly last: number
  readonly slowest: number
  /** Of all trees together. Beyond it the oldest syncs lose what is below their root. */
  readonly spans: number
}

export const historyLimits: SyncHistoryLimits = { last: 200, slowest: 50, spans: 25_000 }

/** The root of a sync's tree. */
const syncName = 'syncProxyRules'
const startName = 'createProxier'

interface Kept {
  root: SpanRecord
  spans: number
  /** In how many of the two lists. */
  lists: number
}

export class SyncHistory implements TraceSink {
  readonly #limits: SyncHistoryLimits
  /** A ring: the next one takes the place of the oldest. */
  readonly #last: Kept[] = []
  #next = 0
  /** Slowest first. */
  readonly #slowest: Kept[] = []
  #start: SpanRecord | undefined
  #spans = 0

  constructor(limits: SyncHistoryLimits = historyLimits) {
    this.#limits = limits
  }

  /** Newest first. */
  get last(): readonly SpanRecord[] {
    return this.#oldestFirst.map(({ root }) => root).reverse()
  }

  get slowest(): readonly SpanRecord[] {
    return this.#slowest.map(({ root }) => root)
  }

  /** How the process got ready; undefined until it is. */
  get start(): SpanRecord | undefined {
    return this.#start
  }

  wants(name: string): boolean {
    return name === syncName || name === startName
  }

  finished(root: SpanRecord): void {
    if (root.name === startName) this.#start = root
    if (root.name !== syncName) return
    const kept: Kept = { root, spans: spansIn(root), lists: 1 }
    this.#spans += kept.spans
    this.#leave(this.#last[this.#next])
    this.#last[this.#next] = kept
    this.#next = (this.#next + 1) % this.#limits.last
    this.#rank(kept)
    this.#thinOut()
  }

  get #oldestFirst(): readonly Kept[] {
    return [...this.#last.slice(this.#next), ...this.#last.slice(0, this.#next)]
  }

  #rank(kept: Kept): void {
    const { durationMs } = kept.root
    // Hardly any sync is among the slowest: one look at the last of them says so.
    const isFull = this.#slowest.length >= this.#limits.slowest
    if (isFull && (this.#slowest.at(-1)?.root.durationMs ?? Infinity) >= durationMs) return
    const slower = this.#slowest.findIndex(({ root }) => root.durationMs < durationMs)
    this.#slowest.splice(slower === -1 ? this.#slowest.length : slower, 0, kept)
    kept.lists++
    if (this.#slowest.length > this.#limits.slowest) this.#leave(this.#slowest.pop())
  }

  #leave(kept: Kept | undefined): void {
    if (kept !== undefined && --kept.lists === 0) this.#spans -= kept.spans
  }

  #thinOut(): void {
    if (this.#spans <= this.#limits.spans) return
    for (const kept of [...this.#oldestFirst, ...this.#slowest.toReversed()]) {
      if (this.#spans <= this.#limits.spans) return
      this.#spans -= kept.spans - 1
      if (kept.spans > 1) kept.root = withoutChildren(kept.root, kept.spans - 1)
      kept.spans = 1
    }
  }
}

function withoutChildren(root: SpanRecord, gone: number): SpanRecord {
  const plain = plainRecord(root)
  const dropped = Number(plain.attributes['spans.dropped'] ?? 0) + gone
  return { ...plain, attributes: { ...plain.attributes, 'spans.dropped': dropped }, children: [] }
}
