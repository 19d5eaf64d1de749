/** `web-3`: the number tells replicas apart, and the colour only repeats it. */
export function numberOf(replica: string): string {
  return /-(\d+)$/.exec(replica)?.[1] ?? '?'
}

/** From 1 to 6, as the style sheet has them. */
export function colourOf(replica: string): number {
  const number = Number(numberOf(replica))
  return Number.isNaN(number) ? 0 : ((number - 1) % 6) + 1
}
