import { expect, test } from 'vitest'
import type { Route } from '../../core/route.ts'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { addressPlans, viewOf } from '../../core/testing/random-cluster.ts'
import { testEndpoint, testRoute, withWishes } from '../../core/testing/routes.ts'
import { BpfError } from '../../dataplane/ebpf/bpf-error.ts'
import { MemoryBpf } from '../../dataplane/ebpf/memory-bpf.ts'
import { DoorCalls } from '../testing/door-calls.ts'
import { decodeFrontendTarget, encodeFrontendKey, layout } from './layout.ts'
import { countedDoor } from './testing/counted-door.ts'
import { recordsIn } from './testing/describe-tables.ts'
import { ipv4Backend } from './testing/ipv4-backend.ts'
import { folder, MemoryNode } from './testing/memory-node.ts'

const never = new AbortController().signal
const [one, two] = [testEndpoint('10.64.1.1', 8080), testEndpoint('10.64.1.2', 8080)]
const crashed = { ...one, ready: false, serving: false }
const web = testRoute('shop/web', { endpoints: [one, two] })
const frontend = { scope: 'address', ip: web.clusterIP, port: web.port, protocol: 'TCP' } as const

/** A node whose programs count, and what is told of the Service. */
function counting() {
  const [node, clock, calls] = [new MemoryNode(), new FakeClock(), new DoorCalls()]
  const balancer = node.newBalancer(clock, { families: ['ipv4'], door: (bpf) => countedDoor(calls, bpf) })
  const backend = ipv4Backend({ balancer, clock })
  const maps = () => {
    const found = node.mapsAt('connect4')
    if (found === undefined) throw new Error('no program runs')
    return found
  }
  const add = (bytes: Uint8Array, at: number, count: number) => {
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset)
    buffer.writeBigUInt64LE(buffer.readBigUInt64LE(at) + BigInt(count), at)
  }
  const syncAll = (full: boolean, ...routes: readonly Route[]) =>
    backend.sync(
      viewOf(addressPlans.ipv4, new Map(routes.map((route) => [route.key, route])), []),
      { full, keys: [web.key], causes: [] },
      never,
    )
  return {
    node,
    clock,
    calls,
    backend,
    sync: (...routes: readonly Route[]) => syncAll(false, ...routes),
    rewrite: (...routes: readonly Route[]) => syncAll(true, ...routes),
    connect: (ip: string, count: number) => {
      const { frontends, service_stats: services, endpoint_stats: endpoints } = maps()
      const record = recordsIn(maps()).find((it) => it.ip === ip)
      const key = encodeFrontendKey(frontend)
      const target = decodeFrontendTarget(frontends.entriesByKey.get(key.toString('latin1'))![1], key)
      if (record === undefined || target === undefined) throw new Error('nobody serves there')
      add(services.bytes, target.service * layout.serviceStats.size, count)
      add(endpoints.bytes, record.id * layout.endpointStats.size, count)
    },
    /** What the metrics say beside it. */
    seen: () => ({ translated: backend.choices?.translated, isAtSockets: backend.isServedAtSockets(web.key) }),
    told: async () => {
      const traffic = (await backend.traffic(never)).get(web.key)
      const endpoints = [...(traffic?.endpoints ?? [])].map(([address, { connections }]) => [address, connections])
      return { connections: traffic?.connections, ...Object.fromEntries(endpoints) }
    },
  }
}

test('an endpoint that serves again goes on with what was counted before', async () => {
  const { sync, connect, told } = counting()
  await sync(web)
  connect(one.ip, 5)
  connect(two.ip, 1)
  expect(await told()).toEqual({ connections: 6, [one.address]: 5, [two.address]: 1 })
  await sync(withWishes(web, { endpoints: [crashed, two] }))
  expect(await told()).toEqual({ connections: 6, [one.address]: 5, [two.address]: 1 })
  await sync(web)
  connect(one.ip, 2)
  expect(await told()).toEqual({ connections: 8, [one.address]: 7, [two.address]: 1 })
})

test('also if nobody looked while it did not serve', async () => {
  const { sync, connect, told } = counting()
  await sync(web)
  connect(one.ip, 5)
  await told()
  await sync(withWishes(web, { endpoints: [two] }))
  await sync(web)
  connect(one.ip, 2)
  expect(await told()).toEqual({ connections: 7, [one.address]: 7, [two.address]: 0 })
})

test('so does a Service that was left to the packets for a while', async () => {
  const { clock, sync, connect, told } = counting()
  const left = { ...web, sockets: { balancing: 'off' as const } }
  await sync(web)
  connect(one.ip, 5)
  await told()
  await sync(left)
  expect(await told()).toMatchObject({ connections: 5 })
  await clock.advance(61_000)
  await sync(web)
  connect(one.ip, 2)
  expect(await told()).toEqual({ connections: 7, [one.address]: 7, [two.address]: 0 })
})

test('of an endpoint or a Service that is gone, nothing is told any more', async () => {
  const { sync, connect, told } = counting()
  await sync(web)
  connect(one.ip, 5)
  await told()
  await sync(withWishes(web, { endpoints: [two] }))
  expect(await told()).toEqual({ connections: 5, [two.address]: 0 })
  await sync()
  expect(await told()).toEqual({ connections: undefined })
  await sync(web)
  expect(await told()).toEqual({ connections: 0, [one.address]: 0, [two.address]: 0 })
})

test('nothing that was counted is missing while everything is written anew', async () => {
  const { calls, rewrite, connect, told, seen, sync } = counting()
  await sync(web)
  connect(one.ip, 5)
  const all = { connections: 5, [one.address]: 5, [two.address]: 0, translated: 5, isAtSockets: true }
  const during: unknown[] = []
  calls.atEachMoment = async () => void during.push({ ...(await told()), ...seen() })
  await rewrite(web)
  expect(during.length).toBeGreaterThan(3)
  for (const each of during) expect(each).toEqual(all)
})

test('counts go on while syncs fail', async () => {
  const { calls, sync, connect, told, seen } = counting()
  await sync(web)
  connect(one.ip, 5)
  calls.before = () => {
    throw new BpfError('no-memory', 'cannot read the tables: there is no memory')
  }
  await expect(sync(withWishes(web, { endpoints: [two] }))).rejects.toThrow('there is no memory')
  expect(await told()).toEqual({ connections: 5, [one.address]: 5, [two.address]: 0 })
  connect(two.ip, 2)
  expect(await told()).toEqual({ connections: 7, [one.address]: 5, [two.address]: 2 })
  expect(seen()).toEqual({ translated: 7, isAtSockets: true })
  calls.before = () => {}
  await sync(web)
  expect(await told()).toEqual({ connections: 7, [one.address]: 5, [two.address]: 2 })
})

test('counts stay while the tables are opened again, after another process that was taking over has ended', async () => {
  const { calls, node, backend, rewrite, connect, told, seen, sync } = counting()
  await sync(web)
  connect(one.ip, 5)
  const all = { connections: 5, [one.address]: 5, [two.address]: 0, translated: 5, isAtSockets: true }
  expect({ ...(await told()), ...seen() }).toEqual(all)
  const other = new MemoryBpf(node.kernel)
  await (await other.openMap(`${folder}/maps/config`))?.store(layout.config.owner, 99n)
  backend.reclaim()
  const during: unknown[] = []
  calls.atEachMoment = async () => void during.push({ ...(await told()), ...seen() })
  await rewrite(web)
  expect(during.length).toBeGreaterThan(3)
  for (const each of during) expect(each).toEqual(all)
})
