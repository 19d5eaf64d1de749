import { isDeepStrictEqual } from 'node:util'
import { expect, test } from 'vitest'
import type { Route } from '../../core/route.ts'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { addressPlans, viewOf } from '../../core/testing/random-cluster.ts'
import { RecordingLogger } from '../../core/testing/recording-logger.ts'
import { testEndpoint, testRoute, withWishes } from '../../core/testing/routes.ts'
import { BpfError } from '../../dataplane/ebpf/bpf-error.ts'
import { DoorCalls } from '../testing/door-calls.ts'
import { mapSpecs } from './layout.ts'
import { countedDoor } from './testing/counted-door.ts'
import { choicesOf } from './testing/hook-model.ts'
import { ipv4Backend } from './testing/ipv4-backend.ts'
import { MemoryNode, specsOfSize } from './testing/memory-node.ts'

const never = new AbortController().signal
const [one, two] = [testEndpoint('10.64.1.1', 8080), testEndpoint('10.64.1.2', 8080)]
const web = testRoute('shop/web', { clusterIP: '10.96.0.1', port: 80, endpoints: [one, two] })
const client = { ip: '10.96.0.1', port: 80, protocol: 'TCP', isInHostNetns: false, now: 0n } as const

function other(number: number): Route {
  const endpoints = [testEndpoint('10.64.9.9', 1 + number)]
  return testRoute(`shop/other-${number}`, { clusterIP: `10.96.7.${number}`, port: 80, endpoints })
}

test('a Service that changes is served at every moment while the tables grow, and by a new process', async () => {
  const [node, clock, calls] = [new MemoryNode(), new FakeClock(), new DoorCalls()]
  const specs = specsOfSize({ frontends: 4, services: 4, slots: 4, endpoints: 4 })
  const start = () => {
    const door = (bpf: Parameters<typeof countedDoor>[1]) => countedDoor(calls, bpf)
    const balancer = node.newBalancer(clock, { families: ['ipv4'], specs, door })
    const backend = ipv4Backend({ balancer, clock })
    return { balancer, backend }
  }
  let { balancer, backend } = start()
  let isStarted = false
  let keys: readonly Route['key'][] = []
  const sync = async (...routes: readonly Route[]) => {
    const now = routes.map(({ key }) => key)
    const view = viewOf(addressPlans.ipv4, new Map(routes.map((route) => [route.key, route])), [])
    await backend.sync(view, { full: !isStarted, keys: [...new Set([...keys, ...now])], causes: [] }, never)
    keys = now
    isStarted = true
  }
  await sync(web)
  const passed: string[] = []
  calls.atEachMoment = ({ door, method }) => {
    const maps = node.mapsAt('connect4')
    const choices = maps === undefined ? [] : choicesOf(maps, client)
    if (choices.some(({ kind }) => kind !== 'endpoint')) passed.push(`after ${method} of ${door}`)
  }
  for (let round = 0; round < 40; round++) {
    await sync(withWishes(web, { endpoints: round % 2 === 0 ? [one] : [two] }))
    if (round % 10 === 9) {
      ;({ balancer, backend } = start())
      isStarted = false
    }
    await sync(web, ...Array.from({ length: round }, (_, number) => other(number)))
    expect({ round, passed }).toEqual({ round, passed: [] })
  }
  expect(balancer.usage?.capacities.services).toBeGreaterThan(40)
})

test('a process that ends while its larger maps are pinned leaves tables that the next one uses as far as they go, and makes whole as soon as there is memory', async () => {
  const specs = specsOfSize({ frontends: 4, services: 4, slots: 4, endpoints: 4 })
  const groups = [
    ['services', 'service_stats', 'affinity'],
    ['endpoints', 'endpoint_stats'],
  ] as const
  const all = [web, ...Array.from({ length: 40 }, (_, number) => other(number))]
  const broken: string[] = []
  for (let at = 0, isBroken = true; isBroken; at++) {
    const [node, clock, calls, log] = [new MemoryNode(), new FakeClock(), new DoorCalls(), new RecordingLogger()]
    const start = () => {
      const balancer = node.newBalancer(clock, { families: ['ipv4'], specs, door: (bpf) => countedDoor(calls, bpf) })
      const backend = ipv4Backend({ balancer, clock, log })
      const sync = (full: boolean, ...routes: readonly Route[]) => {
        const view = viewOf(addressPlans.ipv4, new Map(routes.map((route) => [route.key, route])), [])
        return backend.sync(view, { full, keys: all.map(({ key }) => key), causes: [] }, never)
      }
      return { balancer, backend, sync }
    }
    const first = start()
    await first.sync(true, web)
    let pins = 0
    isBroken = false
    calls.after = ({ method, args }) => {
      if ((method !== 'pin' && method !== 'unpin') || !String(args.at(-1)).includes('/maps/') || pins++ !== at) return
      isBroken = true
      broken.push(`${method} ${String(args.at(-1))}`)
      throw new Error('the process has ended')
    }
    await first.sync(false, ...all).catch(() => undefined)
    calls.after = () => {}

    calls.before = ({ method, args: [spec] }) => {
      const isLarger = method === 'createMap' && !Object.values(specs).some((usual) => isDeepStrictEqual(usual, spec))
      if (isLarger) throw new BpfError('no-memory', 'cannot create the map')
    }
    const second = start()
    await second.sync(true, ...all)
    expect((await second.backend.traffic(never)).size).toBe(second.balancer.usage?.entries.services)
    await second.sync(false, web)
    expect(await second.backend.compare(never)).toEqual({ kind: 'as written' })
    calls.before = () => {}

    const { balancer, backend, sync } = start()
    await sync(true, ...all)
    const maps = node.mapsAt('connect4')!
    const sizes = groups.map(
      (names) => new Set(names.map((name) => maps[name].bytes.length / mapSpecs[name].valueSize)),
    )
    expect({ at, sizes: sizes.map(({ size }) => size) }).toEqual({ at, sizes: [1, 1] })
    expect(balancer.usage?.entries.services).toBe(all.length)
    expect((await backend.traffic(never)).size).toBe(all.length)
    expect(
      all.filter(({ clusterIP }) => choicesOf(maps, { ...client, ip: clusterIP })[0]?.kind !== 'endpoint'),
    ).toEqual([])
    expect(await backend.compare(never)).toEqual({ kind: 'as written' })
    await sync(false, web)
    expect(await backend.traffic(never)).toHaveProperty('size', 1)
  }
  // Of each map that grew, its pin goes and comes.
  expect(new Set(broken).size).toBe(2 * 7)
})
