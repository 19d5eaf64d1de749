import { expect, test } from 'vitest'
import { MemoryBpf } from '../../dataplane/ebpf/memory-bpf.ts'
import { MemoryKernel } from '../../dataplane/ebpf/memory-kernel.ts'
import { layout, mapSpecs } from './layout.ts'
import type { SocketPlan } from './plan.ts'
import { SocketChoices } from './socket-choices.ts'

const { connections, refused, size } = layout.serviceStats

/** The only thing of a plan that matters here. */
function planWith(...indexes: readonly number[]): SocketPlan {
  return planOf(Object.fromEntries(indexes.map((index) => [`shop/web:${index}`, { index }])))
}

/** By the key of the route. `generations`: of its endpoints. */
function planOf(
  services: Readonly<Record<string, { readonly index: number; readonly generations?: readonly number[] }>>,
): SocketPlan {
  const routesByKey = new Map(
    Object.entries(services).map(([key, { index, generations = [] }]) => {
      const recordsByAddress = new Map(generations.map((generation) => [`10.64.0.${generation}:80`, { generation }]))
      return [key, { held: { index, recordsByAddress } }]
    }),
  )
  return { routesByKey } as unknown as SocketPlan
}

async function stats() {
  const kernel = new MemoryKernel({ bpffs: '/bpf', cgroups: [] })
  const map = await new MemoryBpf(kernel).createMap({ ...mapSpecs.service_stats, maxEntries: 8 })
  const count = (index: number, field: number, value: bigint) => map.store(index * size + field, value)
  return { maps: { service_stats: map }, count }
}

test('the counts of all Services are added up', async () => {
  const { maps, count } = await stats()
  await count(1, connections, 5n)
  await count(2, connections, 7n)
  await count(2, refused, 3n)
  const choices = new SocketChoices()
  expect(choices.read(planWith(1, 2), maps)).toEqual({ translated: 12, refused: 3, passed: 0, retried: 0 })
  await count(1, connections, 6n)
  expect(choices.read(planWith(1, 2), maps)).toMatchObject({ translated: 13 })
})

test('what was counted stays when the Service goes, and when another one gets its place', async () => {
  const { maps, count } = await stats()
  await count(1, connections, 5n)
  const choices = new SocketChoices()
  choices.read(planWith(1), maps)
  expect(choices.read(planWith(), maps)).toMatchObject({ translated: 5 })
  await count(1, connections, 9n)
  expect(choices.read(planWith(1), maps), 'a new Service, with nine').toMatchObject({ translated: 14 })
  await count(1, connections, 2n)
  expect(choices.read(planWith(1), maps), 'another one in between two reads').toMatchObject({ translated: 16 })
})

test('a Service that has the place of another one is counted from zero, however many the other one had', async () => {
  const { maps, count } = await stats()
  await count(1, connections, 5n)
  const choices = new SocketChoices()
  choices.read(planOf({ 'shop/web': { index: 1, generations: [1] } }), maps)
  await count(1, connections, 7n)
  const next = { 'shop/api': { index: 1, generations: [2] } }
  expect(choices.read(planOf(next), maps)).toMatchObject({ translated: 12 })
  await count(1, connections, 8n)
  expect(choices.read(planOf(next), maps)).toMatchObject({ translated: 13 })
})

test('one that was renamed, and found in its place, goes on', async () => {
  const { maps, count } = await stats()
  await count(1, connections, 5n)
  const choices = new SocketChoices()
  choices.read(planOf({ 'shop/web': { index: 1, generations: [1, 2] } }), maps)
  await count(1, connections, 7n)
  const renamed = { 'shop/www': { index: 1, generations: [2, 3] } }
  expect(choices.read(planOf(renamed), maps)).toMatchObject({ translated: 7 })
})
