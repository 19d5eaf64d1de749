import { expect, test } from 'vitest'
import type { Route } from '../../core/route.ts'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { addressPlans, viewOf } from '../../core/testing/random-cluster.ts'
import { testEndpoint, testRoute, withWishes } from '../../core/testing/routes.ts'
import { DoorCalls } from '../testing/door-calls.ts'
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
