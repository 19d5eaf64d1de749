import { expect, test } from 'vitest'
import type { Backend, Change } from '../../core/backend.ts'
import type { Route } from '../../core/route.ts'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { addressPlans, viewOf } from '../../core/testing/random-cluster.ts'
import { RecordingLogger } from '../../core/testing/recording-logger.ts'
import { testEndpoint, testRoute, withWishes } from '../../core/testing/routes.ts'
import { MemoryBpf } from '../../dataplane/ebpf/memory-bpf.ts'
import { TakenOverError } from './tables-owner.ts'
import { describeTables } from './testing/describe-tables.ts'
import { ipv4Backend } from './testing/ipv4-backend.ts'
import { folder, MemoryNode } from './testing/memory-node.ts'
import { noPackets } from './testing/no-packets.ts'

const never = new AbortController().signal
const [one, two] = [testEndpoint('10.64.1.1', 8080), testEndpoint('10.64.1.2', 8080)]
const web = testRoute('shop/web', { endpoints: [one] })
const changed = withWishes(web, { endpoints: [two] })

/** Two of them may run at a time. */
function newProcess(node: MemoryNode) {
  const [clock, log] = [new FakeClock(), new RecordingLogger()]
  const door = () => new MemoryBpf(node.kernel)
  const balancer = node.newBalancer(clock, { families: ['ipv4'], door, log })
  let packetSyncs = 0
  const packets: Backend = {
    ...noPackets,
    sync: (...task) => {
      packetSyncs++
      return noPackets.sync(...task)
    },
  }
  const backend = ipv4Backend({ balancer, packets, clock, log })
  return {
    clock,
    log,
    backend,
    balancer,
    packetSyncs: () => packetSyncs,
    sync: (route: Route, change: Partial<Change> = {}) =>
      backend.sync(
        viewOf(addressPlans.ipv4, new Map([[route.key, route]]), []),
        { full: false, keys: [route.key], causes: [], ...change },
        never,
      ),
  }
}

function bytesOf(node: MemoryNode) {
  const maps = node.mapsAt('connect4')
  if (maps === undefined) throw new Error('no program runs')
  return { tables: describeTables(maps), config: Buffer.from(maps.config.bytes) }
}

test('who finds that another process writes the tables writes no more, and ends', async () => {
  const node = new MemoryNode()
  const [first, second] = [newProcess(node), newProcess(node)]
  await first.sync(web)
  const end = first.backend.watch(() => {}, never).catch(String)
  await second.sync(web)
  const before = bytesOf(node)
  const packetSyncs = first.packetSyncs()

  await expect(first.sync(changed)).rejects.toThrow(TakenOverError)
  expect(await end).toContain('another Fairlead has taken over the sockets of this node: this one ends')
  await first.clock.advance(60_000)
  await expect(first.sync(changed, { full: true })).rejects.toThrow(TakenOverError)
  await first.balancer.renewLease()
  expect(bytesOf(node)).toEqual(before)
  expect(first.packetSyncs()).toBe(packetSyncs)
  await second.sync(changed)
  expect(bytesOf(node).tables).not.toEqual(before.tables)
})

test('who has nothing to write finds it all the same, and ends', async () => {
  const node = new MemoryNode()
  const [first, second] = [newProcess(node), newProcess(node)]
  await first.sync(web)
  const end = first.backend.watch(() => {}, never).catch((error: unknown) => error)
  await second.sync(web)
  await first.clock.advance(5_000)
  expect(await end).toBeInstanceOf(TakenOverError)
})

test('while another process takes over, its writing is nothing to repair', async () => {
  const node = new MemoryNode()
  const [first, second] = [newProcess(node), newProcess(node)]
  await first.sync(web)
  const [found, stop]: [string[], AbortController] = [[], new AbortController()]
  const watch = first.backend.watch((finding) => found.push(finding), stop.signal)
  first.backend.stepAside()
  await second.sync(changed)
  await first.clock.advance(10_000)
  expect(found).toEqual([])
  stop.abort()
  await expect(watch).resolves.toBeUndefined()
})

test('while a process of another mode takes over, what it removes is nothing to repair', async () => {
  const node = new MemoryNode()
  const first = newProcess(node)
  await first.sync(web)
  const [found, stop]: [string[], AbortController] = [[], new AbortController()]
  const watch = first.backend.watch((finding) => found.push(finding), stop.signal)
  first.backend.stepAside()
  await new MemoryBpf(node.kernel).unpin(folder)
  await first.clock.advance(10_000)
  expect(found).toEqual([])
  stop.abort()
  await watch
})

test('what a process wrote that ended while it took over is found, and everything is written anew', async () => {
  const node = new MemoryNode()
  const [first, second] = [newProcess(node), newProcess(node)]
  await first.sync(web)
  const before = bytesOf(node)
  const [found, stop]: [string[], AbortController] = [[], new AbortController()]
  const watch = first.backend.watch((finding) => found.push(finding), stop.signal)
  first.backend.stepAside()
  await second.sync(changed)
  await second.balancer[Symbol.asyncDispose]()
  first.backend.reclaim()
  await first.clock.advance(2_000)
  expect(new Set(found)).toEqual(new Set(['a process that has ended wrote the tables']))
  await first.sync(web)
  expect(bytesOf(node).tables).toEqual(before.tables)
  expect(await first.backend.compare(never)).toEqual({ kind: 'as written' })
  stop.abort()
  await expect(watch).resolves.toBeUndefined()
})

test('a process that ended before it wrote anything has changed nothing', async () => {
  const node = new MemoryNode()
  const first = newProcess(node)
  await first.sync(web)
  const before = bytesOf(node)
  first.backend.reclaim()
  expect(await first.backend.compare(never)).toEqual({ kind: 'as written' })
  await first.sync(web)
  expect(bytesOf(node)).toEqual(before)
})
