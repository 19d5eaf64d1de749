/** Into which bucket of a histogram a value falls: the first whose upper bound is not below it, or the one after all bounds. */
export function bucketOf(value: number, bounds: readonly number[]): number {
  let bucket = 0
  while (bucket < bounds.length && value > bounds[bucket]!) bucket++
  return bucket
}
