import { expect, test } from 'vitest'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { addressPlans, viewOf } from '../../core/testing/random-cluster.ts'
import { testEndpoint, testRoute } from '../../core/testing/routes.ts'
import type { Route } from '../../core/route.ts'
import type { Bpf } from '../../dataplane/ebpf/bpf.ts'
import { BpfError } from '../../dataplane/ebpf/bpf-error.ts'
import { MemoryBpf } from '../../dataplane/ebpf/memory-bpf.ts'
import { TakenOverError } from './tables-owner.ts'
import { describeTables } from './testing/describe-tables.ts'
import { ipv4Backend } from './testing/ipv4-backend.ts'
import { folder, MemoryNode } from './testing/memory-node.ts'
import { noPackets } from './testing/no-packets.ts'

const never = new AbortController().signal

function webWith(endpoints: number): Route {
  return testRoute('shop/web', {
    endpoints: Array.from({ length: endpoints }, (_, index) => testEndpoint(`10.64.1.${index + 1}`, 8080)),
  })
}

/** Several of them may run at a time. */
function newProcess(
  node: MemoryNode,
  refuses: (call: string) => boolean = () => false,
  beforeAttaching = async () => {},
) {
  const [clock, calls]: [FakeClock, string[]] = [new FakeClock(), []]
  const counted = <A extends unknown[], T>(call: string, work: (...args: A) => Promise<T>) => {
    return async (...args: A): Promise<T> => {
      if (refuses(call)) throw new BpfError('no-memory', `${call} was refused`)
      calls.push(call)
      return work(...args)
    }
  }
  const door = (): Bpf => {
    const bpf = new MemoryBpf(node.kernel)
    bpf.createMap = counted('createMap', bpf.createMap.bind(bpf))
    bpf.loadProgram = counted('loadProgram', bpf.loadProgram.bind(bpf))
    const attach = bpf.attach.bind(bpf)
    bpf.attach = async (...args) => {
      await beforeAttaching()
      return attach(...args)
    }
    return bpf
  }
  const balancer = node.newBalancer(clock, { families: ['ipv4'], door })
  const backend = ipv4Backend({ balancer, packets: noPackets, clock })
  const sync = (route: Route) =>
    backend.sync(
      viewOf(addressPlans.ipv4, new Map([[route.key, route]]), []),
      { full: true, keys: [route.key], causes: [] },
      never,
    )
  return { balancer, calls, sync, compare: () => backend.compare(never) }
}

const tablesOf = (node: MemoryNode) => {
  const maps = node.mapsAt('connect4')
  return maps && describeTables(maps)
}

async function tablesWithout(endpoints: number) {
  const node = new MemoryNode()
  await newProcess(node).sync(webWith(endpoints))
  return tablesOf(node)
}

test('a first sync finds maps and programs made, and all of it is as without', async () => {
  const node = new MemoryNode()
  const process = newProcess(node)
  await process.balancer.prepare()
  expect([tablesOf(node), await new MemoryBpf(node.kernel).pinned('/bpf')]).toEqual([undefined, []])
  const made = process.calls.splice(0)
  expect(new Set(made)).toEqual(new Set(['createMap', 'loadProgram']))

  await process.sync(webWith(1))
  expect(process.calls).toEqual([])
  expect(tablesOf(node)).toEqual(await tablesWithout(1))
  expect(await process.compare()).toEqual({ kind: 'as written' })
  // Whoever comes next finds them.
  const next = newProcess(node)
  await next.balancer.prepare()
  await next.sync(webWith(1))
  expect(next.calls).not.toContain('createMap')
  expect(await next.compare()).toEqual({ kind: 'as written' })
})

test('tables of the usual size grow where more is needed', async () => {
  const node = new MemoryNode()
  const process = newProcess(node)
  await process.balancer.prepare()
  await process.sync(webWith(200))
  expect(tablesOf(node)).toEqual(await tablesWithout(200))
  expect(await process.compare()).toEqual({ kind: 'as written' })
})

test('whose tables were pinned first are used, however long ago others were made', async () => {
  const node = new MemoryNode()
  const [late, first] = [newProcess(node), newProcess(node)]
  await late.balancer.prepare()
  await first.sync(webWith(1))
  await late.sync(webWith(2))
  expect(await late.compare()).toEqual({ kind: 'as written' })
  const pinned = await new MemoryBpf(node.kernel).openMap(`${folder}/maps/services`)
  expect(pinned?.bytes).toEqual(node.mapsAt('connect4')?.services.bytes)
  expect(tablesOf(node)).not.toEqual(await tablesWithout(1))
})

test('of two processes that start together, the one that comes to write later has the node, and the other one ends', async () => {
  const node = new MemoryNode()
  const later = newProcess(node)
  await later.balancer.prepare()
  let isFirstCall = true
  const earlier = newProcess(node, undefined, async () => {
    if (isFirstCall) await ((isFirstCall = false), later.sync(webWith(2)))
  })
  await earlier.balancer.prepare()
  await Promise.allSettled([earlier.sync(webWith(1))])
  await expect(earlier.sync(webWith(1))).rejects.toThrow(TakenOverError)
  expect(await later.compare()).toEqual({ kind: 'as written' })
  const pinned = await new MemoryBpf(node.kernel).openMap(`${folder}/maps/services`)
  expect(pinned?.bytes).toEqual(node.mapsAt('connect4')?.services.bytes)
})

test.each(['createMap', 'loadProgram'])('without %s nothing is kept, and the first sync tries again', async (call) => {
  const node = new MemoryNode()
  let isRefused = true
  const process = newProcess(node, (it) => isRefused && it === call)
  await process.balancer.prepare()
  await expect(process.sync(webWith(1))).rejects.toThrow(`${call} was refused`)
  isRefused = false
  await process.sync(webWith(1))
  expect(tablesOf(node)).toEqual(await tablesWithout(1))
})
