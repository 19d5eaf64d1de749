/** What an engine counts for all its listeners together, or what one thread of it does. */
import { bucketCells, connectionBounds, dialBounds, noteDuration, readDurations, type Durations } from './durations.ts'
import type { DialFailure } from './relay.ts'

const cellNames = ['dials', 'refused', 'timeout', 'unreachable', 'other', 'avoided'] as const

/** The rest is room to grow. `ENGINE_CELLS`, `BUCKETS_START` and `BUCKET_CELLS` in the native engine. */
const bucketsStart = 8
/** In the order of their buckets. */
const bounds = { connections: connectionBounds, dialled: dialBounds, undialled: dialBounds } as const
type Timed = keyof typeof bounds
export const engineCells = 64

export interface EngineCounts {
  /** Attempts to reach an endpoint. */
  readonly dials: number
  readonly dialFailures: Readonly<Record<DialFailure, number>>
  /** How often an endpoint did not answer that had answered before: from then on it was tried last. */
  readonly avoided: number
  /** How long TCP connections lasted, from the moment an endpoint had answered. */
  readonly connections: Durations
  /** How long it took until an endpoint answered (TCP). */
  readonly dialled: Durations
  /** How long it took until an attempt had failed (TCP). */
  readonly undialled: Durations
}

export class EngineCounters {
  /** Only the thread that relays writes here. */
  readonly cells: Float64Array
  readonly #buckets: Readonly<Record<Timed, Float64Array>>

  constructor(cells: Float64Array = new Float64Array(engineCells)) {
    this.cells = cells
    const buckets = (index: number) => {
      const start = bucketsStart + index * bucketCells
      return cells.subarray(start, start + bucketCells)
    }
    this.#buckets = { connections: buckets(0), dialled: buckets(1), undialled: buckets(2) }
  }

  static shared(): EngineCounters {
    return new EngineCounters(new Float64Array(new SharedArrayBuffer(engineCells * 8)))
  }

  /** What several threads have counted. */
  static sumOf(parts: readonly EngineCounters[]): EngineCounters {
    const sum = new EngineCounters()
    for (const { cells } of parts)
      for (let index = 0; index < engineCells; index++) sum.cells[index] = (sum.cells[index] ?? 0) + (cells[index] ?? 0)
    return sum
  }

  dialling(): void {
    this.cells[0] = (this.cells[0] ?? 0) + 1
  }

  failed(why: DialFailure): void {
    this.#count(why)
  }

  avoiding(): void {
    this.#count('avoided')
  }

  #count(what: (typeof cellNames)[number]): void {
    const index = cellNames.indexOf(what)
    this.cells[index] = (this.cells[index] ?? 0) + 1
  }

  took(what: Timed, seconds: number): void {
    noteDuration(this.#buckets[what], bounds[what], seconds)
  }

  snapshot(): EngineCounts {
    const [dials, refused, timeout, unreachable, other, avoided] = this.cells
    const durations = (what: Timed) => readDurations(this.#buckets[what], bounds[what])
    return {
      dials: dials ?? 0,
      dialFailures: {
        refused: refused ?? 0,
        timeout: timeout ?? 0,
        unreachable: unreachable ?? 0,
        other: other ?? 0,
      },
      avoided: avoided ?? 0,
      connections: durations('connections'),
      dialled: durations('dialled'),
      undialled: durations('undialled'),
    }
  }
}
