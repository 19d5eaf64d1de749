/**
 * How long things take, in buckets that are kept where the counters are: nothing is reported for a single connection.
 * The native engine reads the bounds from the memory that it shares with this process.
 */

/** From one that a health check opens to one that is kept for days, in seconds. */
export const connectionBounds = [
  0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 300, 1_800, 3_600, 21_600, 86_400,
] as const
/** From the same node to the last timeout. */
export const dialBounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2] as const

/** Room for 16 bounds, for what is above the last one, and for the sum of all. */
export const bucketCells = 18
const sumCell = bucketCells - 1

export interface Durations {
  /** In seconds, in order. */
  readonly bounds: readonly number[]
  /** How many were at most as long as each bound and longer than the one before; the last number is for all others. */
  readonly counts: readonly number[]
  /** Of all of them together. */
  readonly seconds: number
}

export function noteDuration(cells: Float64Array, bounds: readonly number[], seconds: number): void {
  let bucket = 0
  while (bucket < bounds.length && seconds > (bounds[bucket] ?? 0)) bucket++
  cells[bucket] = (cells[bucket] ?? 0) + 1
  cells[sumCell] = (cells[sumCell] ?? 0) + seconds
}

export function readDurations(cells: Float64Array, bounds: readonly number[]): Durations {
  return { bounds, counts: [...cells.subarray(0, bounds.length + 1)], seconds: cells[sumCell] ?? 0 }
}
