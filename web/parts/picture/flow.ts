/** How an edge looks: its width, and how fast the dots on it move. */
import type { PictureEdge } from './graph.ts'

/** In pixels. An even share among many is thin, but still seen. */
export function edgeWidth({ share, isRefused }: PictureEdge): number {
  if (isRefused === true) return 1.5
  return share === undefined ? 2 : 1.5 + 6.5 * Math.sqrt(Math.min(1, Math.max(0, share)))
}

/** Dots one after the other, this far apart. One round of the animation moves them as far. */
export const dotGap = 28

export type Dots = { readonly seconds: number; readonly isFaint: boolean } | undefined

/**
 * How long a dot takes for the way to the next one; undefined: nothing moves. In steps, because a speed that changes a
 * little every second makes the dots jump. Twice the speed is ten times the rate: 1/s and 10,000/s are both to be seen.
 */
export function dotsOf({ rate, isOneOfSeveral, isRefused }: PictureEdge): Dots {
  if (isRefused === true) return undefined
  if (rate !== undefined && rate > 0) return { seconds: secondsOf(rate), isFaint: false }
  return isOneOfSeveral === true ? { seconds: 2, isFaint: true } : undefined
}

function secondsOf(rate: number): number {
  const steps = Math.round(Math.log10(Math.min(100_000, Math.max(0.1, rate))) * 2)
  return Number((1.6 * 2 ** (-steps / 2)).toFixed(2))
}
