/** A tree of spans as lines: how deep each is, where its bar begins, how long it is, and how keys walk through them. */
import type { SpanRecord } from '../../../src/core/trace.ts'

export interface WaterfallRow {
  readonly id: string
  readonly span: SpanRecord
  /** The root has 1. */
  readonly level: number
  /** Among its siblings, from 1. */
  readonly place: number
  readonly siblings: number
  readonly hasChildren: boolean
  readonly isOpen: boolean
  /** Parts of the whole, from 0 to 1. */
  readonly start: number
  readonly length: number
}

/** Of the whole: what took less would not be seen. */
const shortest = 0.004

export function waterfallRows(root: SpanRecord, closed: ReadonlySet<string>): readonly WaterfallRow[] {
  const rows: WaterfallRow[] = []
  const whole = Math.max(root.durationMs, Number.MIN_VALUE)
  const walk = (span: SpanRecord, level: number, place: number, siblings: number) => {
    const id = span.context.spanId
    const hasChildren = span.children.length > 0
    const isOpen = hasChildren && !closed.has(id)
    // Clocks of threads differ a little: what begins before its root or ends after it is cut.
    const length = Math.min(1, Math.max(shortest, span.durationMs / whole))
    const start = Math.min(1 - length, Math.max(0, (span.startMs - root.startMs) / whole))
    rows.push({ id, span, level, place, siblings, hasChildren, isOpen, start, length })
    if (isOpen)
      for (const [index, child] of span.children.entries()) walk(child, level + 1, index + 1, span.children.length)
  }
  walk(root, 1, 1, 1)
  return rows
}

/** What a key does, as in every tree grid: to another line, or open or close the one it is on. */
export type Step =
  { readonly kind: 'to'; readonly id: string } | { readonly kind: 'open' | 'close'; readonly id: string } | undefined

export function stepFor(rows: readonly WaterfallRow[], current: string, key: string): Step {
  const at = Math.max(
    0,
    rows.findIndex(({ id }) => id === current),
  )
  const row = rows[at]
  if (row === undefined) return undefined
  switch (key) {
    case 'ArrowDown':
      return to(rows[at + 1])
    case 'ArrowUp':
      return to(rows[at - 1])
    case 'Home':
      return to(rows[0])
    case 'End':
      return to(rows.at(-1))
    case 'ArrowRight':
      if (row.hasChildren && !row.isOpen) return { kind: 'open', id: row.id }
      return row.hasChildren ? to(rows[at + 1]) : undefined
    case 'ArrowLeft':
      if (row.isOpen) return { kind: 'close', id: row.id }
      return to(rows.slice(0, at).findLast(({ level }) => level < row.level))
    default:
      return undefined
  }
}

function to(row: WaterfallRow | undefined): Step {
  return row === undefined ? undefined : { kind: 'to', id: row.id }
}

/** Round numbers of milliseconds for the scale, at most six, from 0 to the whole. */
export function ticksFor(wholeMs: number): readonly number[] {
  if (!(wholeMs > 0)) return [0]
  const rough = wholeMs / 5
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 5, 10].map((times) => times * power).find((one) => one >= rough) ?? rough
  return Array.from({ length: Math.floor(wholeMs / step + 1e-9) + 1 }, (_, index) =>
    Number((index * step).toPrecision(6)),
  )
}
