import { expect, test } from 'vitest'
import type { Route } from '../../core/route.ts'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { addressPlans, viewOf } from '../../core/testing/random-cluster.ts'
import { testEndpoint, testRoute, withWishes } from '../../core/testing/routes.ts'
import { decodeAffinity, layout } from './layout.ts'
import { frontendsIn, recordsIn } from './testing/describe-tables.ts'
import { ipv4Backend } from './testing/ipv4-backend.ts'
import { MemoryNode, specsOfSize } from './testing/memory-node.ts'

const never = new AbortController().signal
const endpoints = [1, 2, 3].map((number) => testEndpoint(`10.64.1.${number}`, 8080))
const [, two] = endpoints
const sticky = testRoute('shop/sticky', { nodePort: 30_080, affinitySeconds: 10_800, endpoints })

function other(number: number): Route {
  const own = [testEndpoint('10.64.9.9', 1 + number)]
  return testRoute(`shop/other-${number}`, { clusterIP: `10.96.7.${number}`, port: 80, endpoints: own })
}

test('what programs remember of clients on loopback outlives a killed process and larger tables, not the endpoint', async () => {
  const [node, clock] = [new MemoryNode(), new FakeClock()]
  const specs = specsOfSize({ frontends: 4, services: 4, slots: 4, endpoints: 4 })
  /** The process before is gone, without a word. */
  const start = () => {
    const balancer = node.newBalancer(clock, { families: ['ipv4'], specs })
    const backend = ipv4Backend({ balancer, clock })
    const sync = (...routes: readonly Route[]) => {
      const view = viewOf(addressPlans.ipv4, new Map(routes.map((route) => [route.key, route])), [])
      return backend.sync(view, { full: true, keys: [], causes: [] }, never)
    }
    return { balancer, sync }
  }
  const memory = () => {
    const maps = node.mapsAt('connect4')
    const target = maps && frontendsIn(maps).find(({ id }) => id?.includes('30080'))?.target
    if (maps === undefined || target === undefined) throw new Error('the Service is not served')
    return { maps, bytes: maps.affinity.bytes, at: target.service * layout.affinity.size }
  }
  /** As the programs look for it. */
  const remembered = () => {
    const { maps, bytes, at } = memory()
    const { endpoint, generation, lastUse } = decodeAffinity(bytes, at)
    return { ip: recordsIn(maps).find((it) => it.id === endpoint && it.generation === generation)?.ip, lastUse }
  }
  await start().sync(sticky)
  expect(remembered().ip).toBeUndefined()
  const { maps, bytes, at } = memory()
  const chosen = recordsIn(maps).find(({ ip }) => ip === two?.ip)
  if (chosen === undefined) throw new Error('an endpoint has no record')
  const words = Buffer.from(bytes.buffer, bytes.byteOffset + at, layout.affinity.size)
  words.writeUInt32LE(chosen.id, layout.affinity.endpoint)
  words.writeUInt32LE(chosen.generation, layout.affinity.generation)
  words.writeBigUInt64LE(77n, layout.affinity.lastUse)
  const wanted = { ip: chosen.ip, lastUse: 77n }
  expect(remembered()).toEqual(wanted)

  const { balancer, sync } = start()
  await sync(sticky)
  expect(remembered()).toEqual(wanted)
  const before = balancer.usage?.capacities.services ?? 0
  const others = Array.from({ length: 40 }, (_, number) => other(number))
  await sync(...others.slice(0, 20), sticky, ...others.slice(20))
  expect(balancer.usage?.capacities.services).toBeGreaterThan(before)
  expect(remembered()).toEqual(wanted)

  const last = start()
  await last.sync(...others, sticky)
  expect(remembered()).toEqual(wanted)
  await last.sync(withWishes(sticky, { endpoints: endpoints.filter((endpoint) => endpoint !== two) }), ...others)
  expect(remembered().ip).toBeUndefined()
})
