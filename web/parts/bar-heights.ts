export interface Bar {
  readonly value: number
  readonly isBad?: boolean
}

const least = 2

/** Of each bar. One that is a hundred times as long as the others must not make them vanish, so they grow by the root. */
export function heights(bars: readonly Bar[], height: number): readonly number[] {
  const greatest = Math.max(...bars.map(({ value }) => value), 0)
  return bars.map(({ value, isBad = false }) => {
    // What failed is always seen, also by those who do not see its colour.
    if (isBad) return height
    if (greatest === 0) return least
    return Math.max(least, Math.round(Math.sqrt(value / greatest) * (height - 4)))
  })
}
