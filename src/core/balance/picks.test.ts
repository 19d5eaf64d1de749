/** What a hundred thousand connections get from the tables of the core, whoever draws the slot. */
import { expect, test } from 'vitest'
import type { NonEmpty } from '../route.ts'
import { chiSquareOf, mostByChance } from './testing/chi-square.ts'
import { seededRandom } from '../testing/seeded-random.ts'
import { hash32 } from './hash32.ts'
import { maglevTable } from './maglev.ts'
import { tableSlotsOf } from './slots.ts'

const picks = 100_000

const endpointsOf = (weights: readonly number[]) =>
  weights.map((weight, index) => ({ address: `10.64.0.${index + 1}:8080`, weight, index }))

/** How a data plane that has the slots finds the one of a connection. */
const draws: readonly (readonly [string, (pick: number, random: () => number, slots: number) => number])[] = [
  ['at random', (_, random, slots) => Math.floor(random() * slots)],
  ['in turn', (pick, _, slots) => pick % slots],
  ['by the client', (pick, _, slots) => hash32(`10.${pick >> 16}.${(pick >> 8) & 255}.${pick & 255}`, 5) % slots],
]

const cases = [
  ['ten endpoints of one weight', Array.from({ length: 10 }, () => 7)],
  ['weights of 1:3:6', [1, 3, 6]],
] as const

for (const [what, weights] of cases)
  for (const [how, slotOf] of draws) {
    test(`${what}, slots drawn ${how}: each has its share`, () => {
      const endpoints = endpointsOf(weights)
      const slots = tableSlotsOf(endpoints as unknown as NonEmpty<(typeof endpoints)[number]>)
      const random = seededRandom(18)
      expect(faultsOf(weights, (pick) => slots[slotOf(pick, random, slots.length)]?.index)).toEqual([])
    })

    test(`${what}, slots of Maglev drawn ${how}: each has its share`, () => {
      const table = maglevTable(endpointsOf(weights))
      const random = seededRandom(18)
      expect(faultsOf(weights, (pick) => table[slotOf(pick, random, table.length)])).toEqual([])
    })
  }

/** Counts that dice cannot explain, or that are off by more than 2 % of all. */
function faultsOf(weights: readonly number[], choose: (pick: number) => number | undefined): readonly string[] {
  const counts = weights.map(() => 0)
  for (let pick = 0; pick < picks; pick++) {
    const index = choose(pick) ?? -1
    counts[index] = (counts[index] ?? 0) + 1
  }
  const sum = weights.reduce((total, weight) => total + weight, 0)
  const far = weights.filter((weight, index) => Math.abs((counts[index] ?? 0) / picks - weight / sum) > 0.02)
  const isUnlikely = chiSquareOf(counts, weights) > mostByChance(weights.length)
  return isUnlikely || far.length > 0 ? [`${picks} picks: ${counts.join(' ')}`] : []
}
