import { expect, test } from 'vitest'
import { FakeClock } from '../../../core/testing/fake-clock.ts'
import { Balancer, type Choice } from './balancer.ts'
import type { Balancing, SocketAddress } from '../relay.ts'

test('a balancer without endpoints has nothing to offer', () => {
  const { next } = given([])
  expect(next()).toBe('nobody')
})

test('endpoints take turns, and the fourth of three is the first again', () => {
  const { next } = given(['a', 'b', 'c'])
  const turns = [next(), next(), next()]
  expect(turns.toSorted()).toEqual(['a', 'b', 'c'])
  expect([next(), next(), next()]).toEqual(turns)
})

test('the order of the turns is shuffled', () => {
  const orders = new Set<string>()
  for (let seed = 0; seed < 1; seed += 0.05) {
    const { next } = given(['a', 'b', 'c'], { random: () => seed })
    orders.add(`${next()}${next()}${next()}`)
  }
  expect(orders.size).toBeGreaterThan(1)
})

test('the same endpoints in another order change neither the order nor whose turn it is', () => {
  const { next, update } = given(['a', 'b', 'c'])
  const turns = [next(), next(), next()]
  next()
  update(['c', 'b', 'a'])
  expect([next(), next()]).toEqual([turns[1], turns[2]])
})

test('a smaller set goes on within itself and names who left', () => {
  const { next, update } = given(['a', 'b', 'c'])
  next()
  expect([...update(['b', 'c'])]).toEqual(['192.0.2.1:97'])
  expect([next(), next()].toSorted()).toEqual(['b', 'c'])
})

test('clients with affinity stick to their endpoint, interleaved with others', () => {
  const { next } = given(['a', 'b', 'c'], { affinitySeconds: 100 })
  const clients = ['198.51.100.1', '198.51.100.2', '198.51.100.3']
  const firsts = clients.map((client) => next(client))
  expect(firsts.toSorted()).toEqual(['a', 'b', 'c'])
  for (let round = 0; round < 3; round++) expect(clients.map((client) => next(client))).toEqual(firsts)
})

test('affinity lasts until the client has been away for the whole timeout, and each visit starts it anew', async () => {
  const { next, clock } = given(['a', 'b'], { affinitySeconds: 60 })
  const first = next('198.51.100.1')
  await clock.advance(59_999)
  expect(next('198.51.100.1')).toBe(first)
  await clock.advance(59_999)
  expect(next('198.51.100.1')).toBe(first)
  await clock.advance(60_000)
  expect(next('198.51.100.1')).not.toBe(first)
})

test('a changed timeout counts at once', async () => {
  const { next, update, clock } = given(['a', 'b'], { affinitySeconds: 3600 })
  const first = next('198.51.100.1')
  await clock.advance(60_000)
  update(['a', 'b'], 60)
  expect(next('198.51.100.1')).not.toBe(first)
})

test('without affinity any more, clients take turns', () => {
  const { next, update } = given(['a', 'b'], { affinitySeconds: 3600 })
  next('198.51.100.1')
  update(['a', 'b'], 0)
  expect([next('198.51.100.1'), next('198.51.100.1')].toSorted()).toEqual(['a', 'b'])
})

test('only the clients of a removed endpoint move, and a new endpoint moves nobody', () => {
  const { next, update } = given(['a', 'b', 'c'], { affinitySeconds: 3600 })
  const clients = ['198.51.100.1', '198.51.100.2', '198.51.100.3']
  const before = clients.map((client) => next(client))
  update(['a', 'b'])
  const after = clients.map((client) => next(client))
  expect(after.map((name, index) => before[index] === 'c' || name === before[index])).toEqual([true, true, true])
  expect(after).not.toContain('c')
  update(['a', 'b', 'c'])
  expect(clients.map((client) => next(client))).toEqual(after)
})

test('forgets clients whose time is over without being asked about them', async () => {
  const { balancer, next, clock } = given(['a'], { affinitySeconds: 60 })
  for (let i = 0; i < 100; i++) next(`198.51.100.${i}`)
  expect(balancer.stickyClients).toBe(100)
  await clock.advance(60_000)
  next('203.0.113.1')
  expect(balancer.stickyClients).toBe(1)
})

test('an endpoint that failed is tried last for a while, and then again in its turn', async () => {
  const { next, fail, clock } = given(['a', 'b'])
  fail('a')
  expect([next(), next(), next()]).toEqual(['b', 'b', 'b'])
  await clock.advance(5_000)
  expect([next(), next()].toSorted()).toEqual(['a', 'b'])
})

test('failures in a row make it wait longer, up to a minute; one success ends it', async () => {
  const { balancer, next, fail, clock } = given(['a', 'b'])
  for (let i = 0; i < 20; i++) fail('a')
  await clock.advance(59_999)
  expect([next(), next()]).toEqual(['b', 'b'])
  balancer.succeeded('192.0.2.1:97')
  expect([next(), next()].toSorted()).toEqual(['a', 'b'])
})

test('when all have failed, all are tried', () => {
  const { next, fail } = given(['a', 'b'])
  fail('a')
  fail('b')
  expect([next(), next()].toSorted()).toEqual(['a', 'b'])
})

test('a client whose endpoint failed gets another one and stays there; others keep theirs', () => {
  const { next, fail } = given(['a', 'b', 'c'], { affinitySeconds: 3600 })
  const first = next('198.51.100.1')
  while (next('198.51.100.2') !== first) fail(next('198.51.100.2'), '198.51.100.2')
  fail(first, '198.51.100.1')
  const second = next('198.51.100.1')
  expect(second).not.toBe(first)
  expect(next('198.51.100.1')).toBe(second)
  expect(next('198.51.100.2')).toBe(first)
})

test('by random, any endpoint may be next', () => {
  let seed = 0
  const { next } = given(['a', 'b', 'c', 'd'], { balancing: 'random', random: () => (seed += 0.3) % 1 })
  const chosen = Array.from({ length: 40 }, () => next())
  expect(new Set(chosen).size).toBe(4)
  const inTurn = chosen.slice(4).every((name, index) => name === chosen[index])
  expect(inTurn).toBe(false)
})

test('by least connections, the endpoint with the fewest open ones is next, and equals take turns', () => {
  const { connect } = given(['a', 'b', 'c'], { balancing: 'least-connections' })
  const first = [connect(), connect(), connect()]
  expect(first.map(({ name }) => name).toSorted()).toEqual(['a', 'b', 'c'])
  const second = [connect(), connect(), connect()]
  expect(second.map(({ name }) => name).toSorted()).toEqual(['a', 'b', 'c'])
  for (const { name, leave } of [...first, ...second]) if (name === 'b') leave()
  expect([connect().name, connect().name]).toEqual(['b', 'b'])
})

test('by least connections, one that left and is back still has its connections', () => {
  const { connect, update } = given(['a', 'b'], { balancing: 'least-connections' })
  const first = [connect(), connect(), connect(), connect()]
  for (const { name, leave } of first) if (name === 'a') leave()
  update(['a'])
  update(['a', 'b'])
  expect([connect().name, connect().name]).toEqual(['a', 'a'])
})

test('by least connections too, an endpoint that failed is tried last', () => {
  const { next, fail } = given(['a', 'b'], { balancing: 'least-connections' })
  fail('a')
  expect([next(), next(), next()]).toEqual(['b', 'b', 'b'])
})

test('other weights change neither the order nor whose turn it is', () => {
  const { balancer, next } = given(['a', 'b', 'c'])
  const turns = [next(), next(), next()]
  next()
  balancer.update(
    ['a', 'b', 'c'].map((letter) => ({ ...endpointOf(letter), weight: 7 })),
    0,
  )
  expect([next(), next()]).toEqual([turns[1], turns[2]])
})

interface GivenOptions {
  readonly affinitySeconds?: number
  readonly random?: () => number
  readonly balancing?: Balancing
}

function given(
  letters: readonly string[],
  { affinitySeconds = 0, random = (): number => 0.5, balancing }: GivenOptions = {},
) {
  const clock = new FakeClock()
  const balancer = new Balancer({ clock, random })
  const update = (others: readonly string[], seconds = affinitySeconds) =>
    balancer.update(others.map(endpointOf), seconds, balancing)
  update(letters)
  return {
    clock,
    balancer,
    update,
    next: (ip = '198.51.100.9') => letterOf(choiceFor(balancer, ip)?.endpoint),
    connect: () => {
      const choice = choiceFor(balancer, '198.51.100.9')
      return { name: letterOf(choice?.endpoint), leave: () => choice?.leave() }
    },
    fail: (letter: string, client = '198.51.100.9') => balancer.failed(`192.0.2.1:${endpointOf(letter).port}`, client),
  }
}

function choiceFor(balancer: Balancer, ip: string): Choice | undefined {
  const choice = balancer.next({ ip, port: 5_000 })
  if (typeof choice === 'string') throw new Error(`nothing is limited here: ${choice}`)
  return choice
}

function endpointOf(letter: string): SocketAddress {
  return { ip: '192.0.2.1', port: letter.charCodeAt(0) }
}

function letterOf(endpoint: SocketAddress | undefined): string {
  return endpoint === undefined ? 'nobody' : String.fromCharCode(endpoint.port)
}
