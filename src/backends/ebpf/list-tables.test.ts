import { expect, test } from 'vitest'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { testEndpoint, testRoute, testView } from '../../core/testing/routes.ts'
import type { SocketMaps } from './found-tables.ts'
import { encodeFrontendTarget, layout, listWord } from './layout.ts'
import { listTables } from './list-tables.ts'
import { ipv4Backend } from './testing/ipv4-backend.ts'
import { MemoryNode } from './testing/memory-node.ts'

const route = testRoute('shop/web', { clusterIP: '10.96.0.10', endpoints: [testEndpoint('10.64.1.1', 8080)] })

/** Of a node with one Service. */
async function written(): Promise<SocketMaps> {
  const clock = new FakeClock()
  const balancer = new MemoryNode().newBalancer(clock, { families: ['ipv4'] })
  const backend = ipv4Backend({ balancer, clock })
  await backend.sync(testView(route), { full: true, keys: [route.key], causes: [] }, new AbortController().signal)
  if (balancer.tables === undefined) throw new Error('nothing was written')
  return balancer.tables.maps
}

test('tables that somebody has damaged, or is replacing by larger ones, are listed as far as they make sense', async () => {
  const maps = await written()
  const [[key] = [new Uint8Array()]] = await maps.frontends.entries()
  const index = layout.service.size
  expect((await listTables(maps)).frontends).toMatchObject([{ at: '10.96.0.10:80/TCP', endpoints: ['10.64.1.1:8080'] }])

  const beyond = maps.slots.spec.maxEntries
  await maps.services.store(index, listWord({ kind: 'endpoints', base: beyond - 1, count: 2 }))
  expect((await listTables(maps)).frontends).toMatchObject([{ at: '10.96.0.10:80/TCP', endpoints: ['?', '?'] }])

  const target = { service: maps.services.spec.maxEntries, list: 'internal' } as const
  await maps.frontends.update([[key, encodeFrontendTarget(target, key)]])
  expect((await listTables(maps)).frontends).toEqual([])
})
