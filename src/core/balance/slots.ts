/**
 * Endpoints in slots, for data planes that choose a slot and know nothing of weights: one with weight 3 has three times as
 * many slots as one with weight 1. Slots of one endpoint are as far apart as can be, so that taking turns is even, too.
 */
import type { NonEmpty } from '../route.ts'

interface Weighted {
  readonly weight: number
}

/**
 * Exact if that takes at most `most` slots; otherwise shares are rounded to whole slots, and each endpoint has one. The
 * same list comes back where all weights are equal, which is nearly always.
 */
export function slotsOf<E extends Weighted>(endpoints: NonEmpty<E>, most: number): NonEmpty<E> {
  const [first] = endpoints
  if (endpoints.every(({ weight }) => weight === first.weight)) return endpoints
  return spread(endpoints, slotCounts(endpoints, Math.max(most, endpoints.length)))
}

/** For tables in a kernel: shares down to one in 256, and some slots for each where there are more endpoints. */
export function tableSlotsOf<E extends Weighted>(endpoints: NonEmpty<E>): NonEmpty<E> {
  return slotsOf(endpoints, Math.max(256, 4 * endpoints.length))
}

function slotCounts(endpoints: readonly Weighted[], most: number): readonly number[] {
  const divisor = endpoints.reduce((gcd, { weight }) => greatestCommonDivisor(gcd, weight), 0)
  const sum = endpoints.reduce((total, { weight }) => total + weight, 0)
  if (sum / divisor <= most) return endpoints.map(({ weight }) => weight / divisor)
  return rounded(endpoints, sum, most)
}

/** By largest remainder: what is left over goes to whom rounding down took most from. */
function rounded(endpoints: readonly Weighted[], sum: number, slots: number): readonly number[] {
  const exact = endpoints.map(({ weight }) => (weight * slots) / sum)
  const counts = exact.map((share) => Math.max(1, Math.floor(share)))
  const byRemainder = exact
    .map((share, index) => ({ index, remainder: share - Math.floor(share) }))
    .sort((left, right) => right.remainder - left.remainder || left.index - right.index)
  let free = slots - counts.reduce((total, count) => total + count, 0)
  for (const { index } of byRemainder) if (free-- > 0) counts[index] = (counts[index] ?? 0) + 1
  return counts
}

/** Whoever is furthest behind its share is next (smooth weighted round robin). */
function spread<E>(endpoints: NonEmpty<E>, counts: readonly number[]): NonEmpty<E> {
  const total = counts.reduce((sum, count) => sum + count, 0)
  const behind = counts.map(() => 0)
  const slots: E[] = []
  for (let slot = 0; slot < total; slot++) {
    let next = 0
    for (const [index, count] of counts.entries()) {
      behind[index] = (behind[index] ?? 0) + count
      if ((behind[index] ?? 0) > (behind[next] ?? 0)) next = index
    }
    behind[next] = (behind[next] ?? 0) - total
    slots.push(endpoints[next] ?? endpoints[0])
  }
  return slots as unknown as NonEmpty<E>
}

function greatestCommonDivisor(left: number, right: number): number {
  return right === 0 ? left : greatestCommonDivisor(right, left % right)
}
