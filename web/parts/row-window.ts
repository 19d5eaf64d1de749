/** Which rows of a long list are on the screen, and where the list must stand to show one. */
export interface Scroll {
  readonly top: number
  readonly height: number
}

/** Rows that are drawn beyond what is seen, so that a quick scroll finds some. */
const spare = 8

/** From the first to before the last. */
export function rowsIn(
  { top, height }: Scroll,
  rowHeight: number,
  count: number,
): readonly [first: number, end: number] {
  const first = Math.floor(top / rowHeight) - spare
  const end = Math.ceil((top + height) / rowHeight) + spare
  return [clamp(first, 0, count), clamp(end, 0, count)]
}

/** The place of the list that shows the whole of a row, as near as can be to where it is. */
export function topToShow(index: number, { top, height }: Scroll, rowHeight: number): number {
  const start = index * rowHeight
  return clamp(top, Math.max(0, Math.min(start, start + rowHeight - height)), start)
}

/** Which row a key leads to; undefined if it leads nowhere. */
export function rowAfterKey(key: string, index: number, rowsOnScreen: number, count: number): number | undefined {
  if (count === 0) return undefined
  const page = Math.max(1, rowsOnScreen - 1)
  const steps: Readonly<Record<string, number>> = {
    ArrowDown: 1,
    ArrowUp: -1,
    PageDown: page,
    PageUp: -page,
    Home: -count,
    End: count,
  }
  const step = Object.hasOwn(steps, key) ? steps[key] : undefined
  return step === undefined ? undefined : clamp(index + step, 0, count - 1)
}

function clamp(n: number, low: number, high: number): number {
  return Math.max(low, Math.min(high, n))
}
