/** Numbers from a noisy machine: how they spread matters as much as the middle. */
export interface Spread {
  readonly min: number
  readonly median: number
  readonly p99: number
  readonly max: number
  readonly count: number
}

export function spreadOf(values: readonly number[]): Spread {
  if (values.length === 0) throw new Error('a benchmark measured nothing: there are no values to summarise')
  const sorted = Float64Array.from(values).sort()
  return {
    min: quantile(sorted, 0),
    median: quantile(sorted, 0.5),
    p99: quantile(sorted, 0.99),
    max: quantile(sorted, 1),
    count: sorted.length,
  }
}

/** `median (min – max)` */
export function renderSpread({ min, median, max }: Spread, digits: number): string {
  return `${median.toFixed(digits)} (${min.toFixed(digits)} – ${max.toFixed(digits)})`
}

/** Between two neighbours, the value is interpolated. */
function quantile(sorted: Float64Array, share: number): number {
  const position = share * (sorted.length - 1)
  const below = sorted[Math.floor(position)] ?? NaN
  const above = sorted[Math.ceil(position)] ?? NaN
  return below + (above - below) * (position - Math.floor(position))
}
