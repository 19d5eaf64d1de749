import { isDeepStrictEqual } from 'node:util'
import { expect, test } from 'vitest'
import type { Route } from '../../core/route.ts'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { addressPlans, viewOf } from '../../core/testing/random-cluster.ts'
import { RecordingLogger } from '../../core/testing/recording-logger.ts'
import { testEndpoint, testRoute, withWishes } from '../../core/testing/routes.ts'
import { BpfError } from '../../dataplane/ebpf/bpf-error.ts'
import type { MapSpec } from '../../dataplane/ebpf/bpf.ts'
import { DoorCalls } from '../testing/door-calls.ts'
import { socketRoute } from './frontends-of.ts'
import type { SocketPlan } from './plan.ts'
import { countedDoor } from './testing/counted-door.ts'
import { recordsIn } from './testing/describe-tables.ts'
import { choicesOf } from './testing/hook-model.ts'
import { ipv4Backend } from './testing/ipv4-backend.ts'
import { MemoryNode, specsOfSize } from './testing/memory-node.ts'
import { WithoutRoom } from './without-room.ts'

const never = new AbortController().signal

function service(number: number): Route {
  const endpoints = [testEndpoint('10.64.1.1', 8000 + number)]
  return testRoute(`shop/service-${number}`, { clusterIP: `10.96.0.${number}`, port: 80, endpoints })
}

function smallTables() {
  const [node, clock, calls, log] = [new MemoryNode(), new FakeClock(), new DoorCalls(), new RecordingLogger()]
  const balancer = node.newBalancer(clock, {
    families: ['ipv4'],
    specs: specsOfSize({ frontends: 8, services: 8, slots: 16, endpoints: 8 }),
    door: (bpf) => countedDoor(calls, bpf),
    log,
  })
  const backend = ipv4Backend({ balancer, clock, log })
  let known: readonly Route['key'][] = []
  const sync = async (numbers: readonly number[], { full = false } = {}) => {
    const routes = numbers.map(service)
    const keys = [...new Set([...known, ...routes.map(({ key }) => key)])]
    known = routes.map(({ key }) => key)
    const view = viewOf(addressPlans.ipv4, new Map(routes.map((route) => [route.key, route])), [])
    return backend.sync(view, { full, keys, causes: [] }, never)
  }
  const kindOf = (number: number) => {
    const maps = node.mapsAt('connect4')
    const client = { ip: `10.96.0.${number}`, port: 80, protocol: 'TCP', isInHostNetns: false, now: 0n } as const
    return maps && choicesOf(maps, client)[0]?.kind
  }

  return { balancer, backend, clock, calls, log, sync, kindOf }
}

const many = Array.from({ length: 20 }, (_, index) => index + 1)

test('what larger tables have no memory for is left to the packets, told once, and served when there is room again', async () => {
  const { backend, clock, calls, log, sync, kindOf } = smallTables()
  await sync([1, 2, 3], { full: true })
  calls.before = ({ method }) => {
    if (method === 'createMap') throw new BpfError('no-memory', 'cannot create the map "fl_services"')
  }
  for (let round = 0; round < 3; round++) expect(await sync(many)).toMatchObject({ failed: [] })
  expect([1, 2, 3].map(kindOf)).toEqual(['endpoint', 'endpoint', 'endpoint'])
  const kinds = many.map(kindOf)
  expect(new Set(kinds)).toEqual(new Set(['endpoint', 'pass']))
  expect(log.at('warn').map(({ message }) => message)).toEqual([
    'there is no memory for larger tables: some Services are left to the packets',
    'the tables of the sockets are full: some Service ports are left to the packets',
  ])

  // What is free rests a while before it is used again.
  const left = many.filter((number) => kindOf(number) === 'pass').slice(0, 2)
  await sync(left)
  await clock.advance(61_000)
  await sync(left)
  expect(left.map(kindOf)).toEqual(['endpoint', 'endpoint'])
  expect(await backend.compare(never)).toEqual({ kind: 'as written' })
})

test('memory for larger tables is asked for again after five minutes, not at each sync', async () => {
  const { balancer, backend, clock, calls, log, sync, kindOf } = smallTables()
  await sync([1, 2, 3], { full: true })
  let isThere = false
  let refusals = 0
  calls.before = ({ method }) => {
    if (method !== 'createMap' || isThere) return
    refusals++
    throw new BpfError('no-memory', 'cannot create the map "fl_services"')
  }
  const left = () => many.filter((number) => kindOf(number) === 'pass').length
  const syncOften = async () => {
    for (let round = 0; round < 3; round++) await sync(many, { full: round === 1 })
  }
  await syncOften()
  expect([refusals, left() > 0]).toEqual([1, true])
  await clock.advance(300_000)
  await syncOften()
  expect(refusals).toBe(2)
  expect(log.at('warn').filter(({ message }) => message.startsWith('there is no memory'))).toHaveLength(1)

  isThere = true
  await syncOften()
  expect(left()).toBeGreaterThan(0)
  await clock.advance(300_000)
  await sync(many)
  expect([refusals, left()]).toEqual([2, 0])
  expect(balancer.usage?.capacities.frontends).toBeGreaterThan(20)
  expect(await backend.compare(never)).toEqual({ kind: 'as written' })
})

test.each([0, 1, 2, 3, 4, 5, 6])('where %i maps can be made larger and one more cannot, none is', async (most) => {
  const [node, clock, calls] = [new MemoryNode(), new FakeClock(), new DoorCalls()]
  const balancer = node.newBalancer(clock, {
    families: ['ipv4'],
    specs: specsOfSize({ frontends: 8, services: 8, slots: 16, endpoints: 8 }),
    door: (bpf) => countedDoor(calls, bpf),
  })
  const backend = ipv4Backend({ balancer, clock })
  const sync = (count: number) => {
    const routes = Array.from({ length: count }, (_, index) => service(index + 1))
    const view = viewOf(addressPlans.ipv4, new Map(routes.map((route) => [route.key, route])), [])
    return backend.sync(view, { full: true, keys: routes.map(({ key }) => key), causes: [] }, never)
  }
  await sync(1)
  const before = balancer.usage?.capacities
  let made = 0
  calls.before = ({ method }) => {
    if (method === 'createMap' && made++ >= most) throw new BpfError('no-memory', 'cannot create the map')
  }
  await sync(20)
  expect(made).toBe(most + 1)
  expect(balancer.usage?.capacities).toEqual(before)
  expect(balancer.usage?.entries.frontends).toBe(node.mapsAt('connect4')?.frontends.entriesByKey.size)
  // Each Service in the tables has a place to count in.
  expect((await backend.traffic(never)).size).toBe(balancer.usage?.entries.services)
  expect(await backend.compare(never)).toEqual({ kind: 'as written' })
})

test('so is what a first sync has no memory for', async () => {
  const [node, clock, calls] = [new MemoryNode(), new FakeClock(), new DoorCalls()]
  const specs = specsOfSize({ frontends: 8, services: 8, slots: 16, endpoints: 8 })
  const balancer = node.newBalancer(clock, { families: ['ipv4'], specs, door: (bpf) => countedDoor(calls, bpf) })
  const backend = ipv4Backend({ balancer, clock })
  calls.before = ({ method, args }) => {
    const [spec] = args as [MapSpec]
    const isLarger = method === 'createMap' && !Object.values(specs).some((usual) => isDeepStrictEqual(usual, spec))
    if (isLarger) throw new BpfError('no-memory', `cannot create the map "${spec.name}"`)
  }
  const routes = Array.from({ length: 20 }, (_, index) => service(index + 1))
  const view = viewOf(addressPlans.ipv4, new Map(routes.map((route) => [route.key, route])), [])
  const synced = backend.sync(view, { full: true, keys: routes.map(({ key }) => key), causes: [] }, never)
  expect(await synced).toMatchObject({ failed: [] })
  expect(balancer.usage?.entries.services).toBe(7)
  expect(await backend.compare(never)).toEqual({ kind: 'as written' })
})

/** Tables that cannot grow, with seven places for Services. */
function fullNode({ endpoints = 64 } = {}) {
  const [node, clock, calls] = [new MemoryNode(), new FakeClock(), new DoorCalls()]
  const balancer = node.newBalancer(clock, {
    families: ['ipv4'],
    specs: specsOfSize({ frontends: 64, services: 8, slots: 64, endpoints }),
    door: (bpf) => countedDoor(calls, bpf),
  })
  const backend = ipv4Backend({ balancer, clock })
  let fences = 0
  let isFull = false
  calls.before = ({ method }) => {
    if (method === 'fence') fences++
    if (method === 'createMap' && isFull) throw new BpfError('no-memory', 'cannot create the map')
  }
  const byKey = new Map<Route['key'], Route>()
  return {
    clock,
    /** With its key alone a Service goes. */
    sync: async (changes: readonly (Route | Route['key'])[]) => {
      for (const change of changes) {
        if (typeof change === 'string') byKey.delete(change)
        else byKey.set(change.key, change)
      }
      const keys = changes.map((change) => (typeof change === 'string' ? change : change.key))
      await backend.sync(viewOf(addressPlans.ipv4, new Map(byKey), []), { full: !isFull, keys, causes: [] }, never)
      isFull = true
    },
    served: () => {
      const maps = node.mapsAt('connect4')!
      const kindAt = (ip: string) =>
        choicesOf(maps, { ip, port: 80, protocol: 'TCP', isInHostNetns: false, now: 0n })[0]?.kind
      return [...byKey.values()].flatMap(({ key, clusterIP }) => (kindAt(clusterIP) === 'endpoint' ? [key] : []))
    },
    records: () => recordsIn(node.mapsAt('connect4')!),
    fences: () => fences,
  }
}

function withEndpoints(number: number, ...ips: readonly string[]): Route {
  return withWishes(service(number), { endpoints: ips.map((ip) => testEndpoint(ip, 8000)) })
}

test('a change beside Services without room waits for nothing, and takes no more than it needs', async () => {
  const { sync, served, records, fences } = fullNode()
  await sync([service(1)])
  await sync(Array.from({ length: 20 }, (_, index) => service(index + 1)))
  expect(served()).toHaveLength(7)
  const generationOf = (ip: string) => records().find((record) => record.ip === ip)!.generation
  await sync([withEndpoints(1, '10.64.2.0')])
  const [before, fencesBefore] = [generationOf('10.64.2.0'), fences()]
  const rounds = 20
  for (let round = 1; round <= rounds; round++) {
    await sync([withEndpoints(1, `10.64.2.${round}`)])
    // One of those without room changes, too: it has none either way.
    await sync([withEndpoints(20, `10.64.3.${round}`)])
  }
  expect(fences() - fencesBefore).toBe(0)
  expect(generationOf(`10.64.2.${rounds}`) - before).toBe(rounds)
  expect(served()).toHaveLength(7)
})

test('they are tried again when something else has ended, and only then', async () => {
  const { sync, served, fences } = fullNode()
  await sync([service(1)])
  const all = Array.from({ length: 12 }, (_, index) => service(index + 1))
  await sync(all)
  const [gone, other] = served()
  await sync([gone!])
  expect(served()).toHaveLength(6)
  await sync([all.find(({ key }) => key === other)!])
  expect(served()).toHaveLength(7)
  const before = fences()
  for (let round = 0; round < 5; round++) await sync([all.find(({ key }) => key === other)!])
  expect(served()).toHaveLength(7)
  expect(fences()).toBe(before)
})

test('what a Service without room gives back, the next one has at once', async () => {
  const { sync, served } = fullNode({ endpoints: 8 })
  await sync([service(1)])
  await sync([2, 3, 4, 5, 6].map(service))
  await sync([withEndpoints(8, '10.64.4.1', '10.64.4.2', '10.64.4.3'), service(7)])
  expect(served()).toEqual([1, 2, 3, 4, 5, 6, 7].map((number) => service(number).key))
})

test.each(['frontends', 'services', 'slots', 'endpoints'] as const)(
  'routes without room are tried again when fewer %s are in use than before, by either change',
  (kind) => {
    const key = service(1).key
    const plan = {
      withoutRoom: new Set([key]),
      routesByKey: new Map([[key, { route: socketRoute(service(1), () => false) }]]),
    } as unknown as SocketPlan
    const [tried, changed] = [new Map([[key, undefined]]), new Map<Route['key'], undefined>()]
    const used = { frontends: 20, services: 7, slots: 9, endpoints: 8 }
    const [less, more] = [
      { ...used, [kind]: used[kind] - 1 },
      { ...used, [kind]: used[kind] + 1 },
    ]
    const routes = new WithoutRoom()
    const keysWith = (inUse: typeof used) => [...routes.withRetries('ipv4', changed, plan, inUse).keys()]
    routes.note('ipv4', tried, plan, used, used)
    expect([keysWith(used), keysWith(more), keysWith(less)]).toEqual([[], [], [key]])
    // What this change has ended is room for the next one.
    routes.note('ipv4', tried, plan, used, less)
    expect(keysWith(less)).toEqual([key])
    routes.note('ipv4', tried, plan, less, less)
    expect(keysWith(less)).toEqual([])
    // So is what it has taken.
    routes.note('ipv4', tried, plan, used, more)
    expect(keysWith(used)).toEqual([key])
    // Nobody was tried here.
    routes.note('ipv4', changed, plan, less, less)
    expect(keysWith(used)).toEqual([key])
  },
)
