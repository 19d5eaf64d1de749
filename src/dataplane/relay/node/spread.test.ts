import fc from 'fast-check'
import { expect, test } from 'vitest'
import { maglevTable } from '../../../core/balance/maglev.ts'
import { chiSquareOf, mostByChance } from '../../../core/balance/testing/chi-square.ts'
import { seededRandom } from '../../../core/testing/seeded-random.ts'
import type { Balancing } from '../relay.ts'
import { Spread, type Candidate } from './spread.ts'

interface Endpoint extends Candidate {
  weight: number
  open: number
}

const named = (weights: readonly number[]): Endpoint[] =>
  weights.map((weight, index) => ({ name: `10.64.0.${index + 1}:8080`, weight, open: 0, credit: 0 }))

function spreadOf(endpoints: readonly Endpoint[], balancing: Balancing, seed = 1): Spread<Endpoint> {
  const spread = new Spread<Endpoint>(seededRandom(seed))
  spread.replace(endpoints, balancing)
  return spread
}

const balancings = ['round-robin', 'random', 'least-connections', 'source-hash', 'maglev'] as const
const picks = 100_000

/** Each has an address of its own. */
const clientOf = (index: number) => ({ ip: `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`, port: 40_000 })

function countsOf(
  spread: Spread<Endpoint>,
  endpoints: readonly Endpoint[],
  mayTake: (one: Endpoint) => boolean = () => true,
) {
  const counts = new Map<Endpoint | undefined, number>()
  for (let index = 0; index < picks; index++) {
    const chosen = spread.next(clientOf(index), mayTake)
    counts.set(chosen, (counts.get(chosen) ?? 0) + 1)
  }
  return endpoints.map((endpoint) => counts.get(endpoint) ?? 0)
}

for (const balancing of balancings) {
  test(`by ${balancing}, ten endpoints are chosen equally often`, () => {
    const endpoints = named(Array.from({ length: 10 }, () => 1))
    const counts = countsOf(spreadOf(endpoints, balancing), endpoints)
    const weights = endpoints.map(({ weight }) => weight)
    expect(chiSquareOf(counts, weights)).toBeLessThan(mostByChance(10))
  })

  test(`by ${balancing}, weights of 1:3:6 are kept`, () => {
    const endpoints = named([1, 3, 6])
    const counts = countsOf(spreadOf(endpoints, balancing), endpoints)
    expect(chiSquareOf(counts, [1, 3, 6])).toBeLessThan(mostByChance(3))
    for (const [index, share] of [0.1, 0.3, 0.6].entries())
      expect(Math.abs((counts[index] ?? 0) / picks / share - 1)).toBeLessThan(0.02)
  })

  test(`by ${balancing}, the others share by weight what one would get that may not be taken`, () => {
    const endpoints = named([1, 3, 6])
    const [light, middle, heavy] = countsOf(spreadOf(endpoints, balancing), endpoints, ({ weight }) => weight !== 3)
    expect(middle).toBe(0)
    expect(light).toBeGreaterThan(picks * 0.13)
    expect(light).toBeLessThan(picks * 0.16)
    expect(heavy).toBe(picks - (light ?? 0))
  })

  test(`by ${balancing}, nobody is chosen where nobody may be`, () => {
    const endpoints = named([1, 3, 6])
    expect(spreadOf(endpoints, balancing).next(clientOf(1), () => false)).toBeUndefined()
    expect(spreadOf([], balancing).next(clientOf(1), () => true)).toBeUndefined()
  })
}

test('by turn, weights are spread as evenly as can be', () => {
  const endpoints = named([5, 1, 1])
  const spread = spreadOf(endpoints, 'round-robin')
  const order = Array.from({ length: 14 }, () => spread.next(clientOf(0), () => true)?.name.at(-6))
  expect(order.join('')).toBe('11213111121311')
})

test('by least connections, the chosen one is the least busy for its weight, whatever opens and closes', () => {
  const action = fc.record({
    closes: fc.nat(),
    opens: fc.integer({ min: 1, max: 4 }),
    down: fc.integer({ min: 1, max: 7 }),
  })
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 7 }),
      fc.array(action),
      (weights, actions) => {
        const endpoints = named(weights)
        const spread = spreadOf(endpoints, 'least-connections')
        const opened: Endpoint[] = []
        for (const { closes, opens, down } of actions) {
          const [closed] = opened.splice(closes % (opened.length + 1), 1)
          if (closed !== undefined) closed.open--
          for (let one = 0; one < opens; one++) {
            const usable = endpoints.filter((_, index) => index !== down)
            const chosen = spread.next(clientOf(0), (endpoint) => usable.includes(endpoint))
            if (chosen === undefined) throw new Error('the first one may always be taken')
            const loads = usable.map(({ open, weight }) => open / weight)
            expect(chosen.open / chosen.weight).toBe(Math.min(...loads))
            chosen.open++
            opened.push(chosen)
          }
        }
      },
    ),
  )
})

test.each(['source-hash', 'maglev'] as const)(
  'by %s, the order in which endpoints came does not matter',
  (balancing) => {
    const endpoints = named([1, 3, 6, 2])
    const [one, other] = [spreadOf(endpoints, balancing), spreadOf(endpoints.toReversed(), balancing, 2)]
    for (let index = 0; index < 1_000; index++)
      expect(one.next(clientOf(index), () => true)).toBe(other.next(clientOf(index), () => true))
  },
)

test.each(['source-hash', 'maglev'] as const)(
  'by %s, only the clients of an endpoint that may not be taken go elsewhere, always to the same one, and not all to one',
  (balancing) => {
    const endpoints = named([1, 1, 1, 1])
    const spread = spreadOf(endpoints, balancing)
    const isUp = ({ name }: Endpoint) => name !== endpoints[0]?.name
    const [moved, refuges] = [new Set<string | undefined>(), new Set<string | undefined>()]
    for (let index = 0; index < 1_000; index++) {
      const usual = spread.next(clientOf(index), () => true)
      const now = spread.next(clientOf(index), isUp)
      expect(spread.next(clientOf(index), isUp)).toBe(now)
      if (usual === endpoints[0]) refuges.add(now?.name)
      if (usual !== now) moved.add(usual?.name)
    }
    expect([...moved]).toEqual([endpoints[0]?.name])
    expect(refuges.size).toBe(3)
  },
)

test('by source-hash the port of a client does not matter; by maglev it does', () => {
  const chosen = (balancing: Balancing) => {
    const spread = spreadOf(named([1, 1, 1, 1]), balancing)
    const ports = Array.from({ length: 50 }, (_, index) => 40_000 + index)
    return new Set(ports.map((port) => spread.next({ ip: '10.64.7.7', port }, () => true)?.name))
  }
  expect(chosen('source-hash').size).toBe(1)
  expect(chosen('maglev').size).toBe(4)
})

test('by maglev, a client has its slot in the table that every node makes', () => {
  const endpoints = named([1, 3, 6])
  const table = maglevTable(endpoints.map(({ name, weight }) => ({ address: name, weight })))
  const shares = endpoints.map((_, at) => table.filter((index) => index === at).length / table.length)
  const counts = countsOf(spreadOf(endpoints, 'maglev'), endpoints)
  for (const [index, count] of counts.entries()) expect(count / picks).toBeCloseTo(shares[index] ?? 0, 2)
})

test('new weights count at once', () => {
  const endpoints = named([1, 1])
  const spread = spreadOf(endpoints, 'maglev')
  spread.next(clientOf(0), () => true)
  for (const [index, endpoint] of endpoints.entries()) endpoint.weight = index * 9 + 1
  spread.reweigh('maglev')
  expect((countsOf(spread, endpoints)[1] ?? 0) / picks).toBeCloseTo(0.9, 1)
})
