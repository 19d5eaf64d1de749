/** How far counts are from the shares that they should have, and how far they may be by chance. */

/** Pearson's sum. With fair dice its mean is the number of counts less one. */
export function chiSquareOf(counts: readonly number[], weights: readonly number[]): number {
  const times = sumOf(counts)
  const whole = sumOf(weights)
  return weights.reduce((sum, weight, index) => {
    const expected = (times * weight) / whole
    return sum + ((counts[index] ?? 0) - expected) ** 2 / expected
  }, 0)
}

/** Exceeded by fair dice less than once in a million times: by as many endpoints. */
export function mostByChance(endpoints: number): number {
  const bound = bounds.get(endpoints)
  if (bound === undefined) throw new Error(`look up the bound for ${endpoints} endpoints`)
  return bound
}

/** Quantiles of the distribution at 1 - 1e-6. */
const bounds: ReadonlyMap<number, number> = new Map([
  [2, 23.93],
  [3, 27.64],
  [10, 46.4],
])

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0)
}
