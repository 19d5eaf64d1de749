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
  return slotsOf(endpoints, mostTableSlots(endpoints))
}

/** How many `tableSlotsOf` has. Putting them in order takes slots × endpoints steps, counting them does not. */
export function tableSlotCount(endpoints: NonEmpty<Weighted>): number {
  const [first] = endpoints
  if (endpoints.every(({ weight }) => weight === first.weight)) return endpoints.length
  return Math.min(exactSlots(endpoints), mostTableSlots(endpoints))
}

function mostTableSlots(endpoints: readonly Weighted[]): number {
  return Math.max(256, 4 * endpoints.length)
}

function slotCounts(endpoints: readonly Weighted[], most: number): readonly number[] {
  if (exactSlots(endpoints) > most) return wholeShares(endpoints, most)
  const divisor = commonDivisor(endpoints)
  return endpoints.map(({ weight }) => weight / divisor)
}

/** So many that no share is rounded. */
function exactSlots(endpoints: readonly Weighted[]): number {
  return endpoints.reduce((total, { weight }) => total + weight, 0) / commonDivisor(endpoints)
}

function commonDivisor(endpoints: readonly Weighted[]): number {
  return endpoints.reduce((gcd, { weight }) => greatestCommonDivisor(gcd, weight), 0)
}

/**
 * As many slots in all as are given, at least one for each endpoint; more only where there are more endpoints. Whoever is due
 * less than one comes first, the others share the rest by largest remainder: what is left over goes to whom rounding down
 * took most from.
 */
export function wholeShares(endpoints: readonly Weighted[], slots: number): readonly number[] {
  const counts = endpoints.map(() => 1)
  const byWeight = endpoints.map(({ weight }, index) => ({ weight, index })).sort((a, b) => a.weight - b.weight)
  let free = slots
  let sum = endpoints.reduce((total, { weight }) => total + weight, 0)
  const firstDue = byWeight.findIndex(({ weight }) => {
    if (weight * free >= sum) return true
    free--
    sum -= weight
    return false
  })
  if (firstDue === -1) return counts
  const due = byWeight.slice(firstDue).map(({ weight, index }) => ({ index, exact: (weight * free) / sum }))
  for (const { index, exact } of due) counts[index] = Math.floor(exact)
  const left = due.reduce((rest, { exact }) => rest - Math.floor(exact), free)
  const byRemainder = due.sort((a, b) => (b.exact % 1) - (a.exact % 1) || a.index - b.index)
  for (const { index } of byRemainder.slice(0, left)) counts[index] = (counts[index] ?? 0) + 1
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
