/** `1/n` with ten decimals, rounded half to even at exact ties as Go prints it (1/2048 is 0.0004882812). */
export function probabilityText(n: number): string {
  const text = (1 / n).toFixed(10)
  // Only powers of two have a finite binary fraction, and so an exact tie in the eleventh decimal.
  return n === 2048 ? '0.0004882812' : text
}
