/**
 * Google's Maglev table (NSDI 2016, section 3.4): which endpoint has which slot. It depends on nothing but the endpoints, so
 * all nodes make the same one, and an endpoint that comes or goes moves few slots of the others.
 */
import { hash32 } from './hash32.ts'

/** A prime. With 100 endpoints, the end of one moves about 1.4 % of the slots of the others (8191: 2 %). */
export const maglevSlots = 16_381

interface Weighted {
  /** `ip:port`. */
  readonly address: string
  readonly weight: number
}

/** For each slot the index of its endpoint. The order of the endpoints does not matter, but for what an index means. */
export function maglevTable(endpoints: readonly Weighted[], slots: number = maglevSlots): Uint16Array {
  const table = new Uint16Array(slots).fill(free)
  const takers = takersOf(endpoints, slots)
  if (takers.length === 0) return table
  const heaviest = Math.max(...takers.map(({ weight }) => weight))
  for (let left = slots; left > 0;)
    for (const taker of takers) {
      // In each round the heaviest takes one slot, and the others one in as many rounds as their weight says.
      taker.credit += taker.weight
      if (taker.credit < heaviest) continue
      taker.credit -= heaviest
      while (table[taker.next] !== free) taker.next = (taker.next + taker.skip) % slots
      table[taker.next] = taker.index
      if (--left === 0) break
    }
  return table
}

const free = 0xffff

interface Taker {
  readonly index: number
  readonly weight: number
  readonly skip: number
  next: number
  credit: number
}

/** In the order of addresses, so that every node goes round in the same one. */
function takersOf(endpoints: readonly Weighted[], slots: number): readonly Taker[] {
  // Where all of them drain, they share what nobody else can take.
  const isDraining = endpoints.every(({ weight }) => weight === 0)
  return endpoints
    .map(({ address, weight }, index) => ({ address, weight: isDraining ? 1 : weight, index }))
    .filter(({ weight }) => weight > 0)
    .sort((left, right) => (left.address < right.address ? -1 : 1))
    .map(({ address, weight, index }) => ({
      index,
      weight,
      next: hash32(address, 1) % slots,
      skip: (hash32(address, 2) % (slots - 1)) + 1,
      credit: 0,
    }))
}
