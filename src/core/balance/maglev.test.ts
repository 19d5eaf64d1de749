import fc from 'fast-check'
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { maglevSlots, maglevTable } from './maglev.ts'

const endpoints = (count: number, net = 0, weight = 1) =>
  Array.from({ length: count }, (_, index) => ({ address: `10.${net}.${index >> 8}.${index & 255}:8080`, weight }))

const addressesIn = (list: readonly { address: string; weight: number }[]) => {
  const table = maglevTable(list)
  return Array.from(table, (index) => list[index]?.address)
}

/** Of any weights. */
const anyEndpoints = fc
  .uniqueArray(fc.nat(0xffff), { minLength: 1, maxLength: 120 })
  .chain((hosts) =>
    fc
      .array(fc.integer({ min: 1, max: 1_000 }), { minLength: hosts.length, maxLength: hosts.length })
      .map((weights) =>
        hosts.map((host, index) => ({ address: `10.3.${host >> 8}.${host & 255}:80`, weight: weights[index] ?? 1 })),
      ),
  )

const shuffled = <T>(list: readonly T[]) => fc.shuffledSubarray([...list], { minLength: list.length })

test('every node makes the same table, in whichever order it learned of the endpoints', () => {
  fc.assert(
    fc.property(
      anyEndpoints.chain((list) => fc.tuple(fc.constant(list), shuffled(list))),
      ([list, other]) => {
        expect(addressesIn(other)).toEqual(addressesIn(list))
      },
    ),
    { numRuns: 30 },
  )
})

test('the table of four endpoints is what nodes of earlier versions have', () => {
  const digest = createHash('sha256')
    .update(addressesIn(endpoints(4)).join('\n'))
    .digest('hex')
  expect(digest).toMatchInlineSnapshot(`"f16a6ad65d93c40b43b008739f5c4d364d7ba7bcf8fc0be7a580d3f49895d26c"`)
})

test.each([2, 3, 10, 100])('slots are shared evenly by %d endpoints', (count) => {
  const counts = new Map<string | undefined, number>()
  for (const address of addressesIn(endpoints(count))) counts.set(address, (counts.get(address) ?? 0) + 1)
  expect(counts.size).toBe(count)
  for (const slots of counts.values()) expect(Math.abs(slots - maglevSlots / count)).toBeLessThanOrEqual(1)
})

test('slots are shared by weight', () => {
  const list = [1, 3, 6, 0].map((weight, index) => ({ address: `10.0.0.${index}:80`, weight }))
  const shares = list.map(({ address }) => addressesIn(list).filter((it) => it === address).length / maglevSlots)
  for (const [index, share] of [0.1, 0.3, 0.6, 0].entries()) expect(shares[index]).toBeCloseTo(share, 2)
})

test('where all of them drain they share, and without endpoints nobody has a slot', () => {
  expect(new Set(addressesIn(endpoints(3, 0, 0))).size).toBe(3)
  expect(new Set(maglevTable([]))).toEqual(new Set([0xffff]))
})

test('the end of one of 100 endpoints moves at most 2 % of the slots of the others, whichever it is', () => {
  fc.assert(
    fc.property(fc.nat(255), fc.nat(99), (net, index) => {
      const before = endpoints(100, net)
      const gone = before[index]?.address
      const after = addressesIn(before.filter(({ address }) => address !== gone))
      const others = addressesIn(before).flatMap((address, slot) => (address === gone ? [] : [[address, after[slot]]]))
      const moved = others.filter(([was, is]) => was !== is).length
      expect(moved / others.length).toBeLessThanOrEqual(0.02)
    }),
    { numRuns: 40, seed: 18 },
  )
})
