/** For people: three digits that matter, and the unit that fits. */
export function shownDuration(ms: number): string {
  if (ms < 1) return `${threeDigits(ms * 1000)} µs`
  return ms < 1000 ? `${threeDigits(ms)} ms` : `${threeDigits(ms / 1000)} s`
}

function threeDigits(value: number): string {
  return value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)))
}
