/** Which of many lines are to be drawn: those that can be seen, and some around them for who scrolls. */
export interface View {
  readonly scrollTop: number
  readonly height: number
}

const around = 20

export function windowOf(total: number, lineHeight: number, { scrollTop, height }: View) {
  const last = Math.min(total, Math.ceil((scrollTop + height) / lineHeight) + around)
  const first = Math.max(0, Math.min(Math.floor(scrollTop / lineHeight) - around, last))
  return { first, last }
}

/** Where to scroll, so that a line is seen with some before it; undefined: it is seen already. */
export function scrollTo(line: number, lineHeight: number, { scrollTop, height }: View): number | undefined {
  const top = line * lineHeight
  if (top >= scrollTop && top + lineHeight <= scrollTop + height) return undefined
  return Math.max(0, top - height / 3)
}
