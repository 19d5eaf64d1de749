import { expect, test } from 'vitest'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { addressPlans, viewOf } from '../../core/testing/random-cluster.ts'
import { testEndpoint, testRoute, withWishes } from '../../core/testing/routes.ts'
import { BpfError } from '../../dataplane/ebpf/bpf-error.ts'
import type { Bpf, BpfLink } from '../../dataplane/ebpf/bpf.ts'
import { MemoryBpf } from '../../dataplane/ebpf/memory-bpf.ts'
import { findLeftovers } from './leftovers.ts'
import { recordsIn } from './testing/describe-tables.ts'
import { cgroup, folder, MemoryNode } from './testing/memory-node.ts'
import { ipv4Backend } from './testing/ipv4-backend.ts'

const never = new AbortController().signal
const web = testRoute('shop/web', { endpoints: [testEndpoint('10.64.1.1', 8080)] })

/** A new process on the node. */
async function start(node: MemoryNode, door: (bpf: Bpf) => Bpf = (bpf) => bpf, route = web) {
  const clock = new FakeClock()
  const backend = ipv4Backend({ balancer: node.newBalancer(clock, { families: ['ipv4'], door }), clock })
  const view = viewOf(addressPlans.ipv4, new Map([[route.key, route]]), [])
  await backend.sync(view, { full: true, keys: [route.key], causes: [] }, never)
  return backend
}

/** A process ran, and somebody put one thing in the place of another since. */
async function damaged(at: string, by: string) {
  const node = new MemoryNode()
  await start(node)
  const bpf = new MemoryBpf(node.kernel)
  const other = by.startsWith('maps/') ? await bpf.openMap(`${folder}/${by}`) : await bpf.openLink(`${folder}/${by}`)
  if (other === undefined) throw new Error(`${by} is not pinned`)
  await bpf.unpin(`${folder}/${at}`)
  await bpf.pin(other, `${folder}/${at}`)
  return { node, bpf }
}

const damages = [
  ['links/connect4', 'maps/services'],
  ['links/connect4', 'links/connect6'],
  ['maps/services', 'links/connect4'],
] as const

test.each(damages)('a start replaces what is pinned at %s if it is %s', async (at, by) => {
  const { node, bpf } = await damaged(at, by)
  const backend = await start(node)
  expect(await backend.compare(never)).toEqual({ kind: 'as written' })
  for (const hook of ['connect4', 'connect6'] as const) {
    expect(await bpf.attached(cgroup, hook)).toHaveLength(1)
    const link: BpfLink | undefined = await bpf.openLink(`${folder}/links/${hook}`)
    expect(link?.attachType).toBe(hook)
  }
  const pinned = await bpf.openMap(`${folder}/maps/services`)
  expect(pinned?.bytes).toEqual(node.mapsAt('connect4')?.services.bytes)
})

test('a link that takes no program is detached, and another one made', async () => {
  const node = new MemoryNode()
  await start(node)
  let refusals = 0
  const backend = await start(node, (bpf) => {
    bpf.replace = async () => {
      refusals++
      throw new BpfError('refused', 'cannot put the program in its place: the kernel refuses it')
    }
    return bpf
  })
  expect(refusals).toBeGreaterThan(0)
  expect(await backend.compare(never)).toEqual({ kind: 'as written' })
  expect(await new MemoryBpf(node.kernel).attached(cgroup, 'connect4')).toHaveLength(1)
})

test('generations go on where the map that says which is next was replaced: sockets remember those of before', async () => {
  const node = new MemoryNode()
  const [one, two] = [testEndpoint('10.64.1.1', 8080), testEndpoint('10.64.1.2', 8080)]
  for (const endpoint of [one, two, one, two]) await start(node, undefined, withWishes(web, { endpoints: [endpoint] }))
  const [before] = recordsIn(node.mapsAt('connect4')!)
  await new MemoryBpf(node.kernel).unpin(`${folder}/maps/config`)
  await start(node, undefined, withWishes(web, { endpoints: [one, two] }))
  const generations = recordsIn(node.mapsAt('connect4')!).map(({ generation }) => generation)
  expect(before?.generation).toBeGreaterThan(3)
  expect(generations.toSorted((a, b) => a - b)).toEqual([before!.generation, before!.generation + 1])
})

test.each(damages)('the clean-up removes all where %s is %s', async (at, by) => {
  const { bpf } = await damaged(at, by)
  const place = { openBpf: async () => bpf, pins: '/bpf/fairlead', ownNamespace: async () => 1n }
  const { removals } = await findLeftovers(place)
  for (const removal of removals) await removal.remove(removal.leftovers, never)
  expect(await bpf.pinned('/bpf/fairlead')).toEqual([])
})
