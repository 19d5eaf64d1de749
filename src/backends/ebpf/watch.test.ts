import { setImmediate } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { addressPlans, viewOf } from '../../core/testing/random-cluster.ts'
import { RecordingLogger } from '../../core/testing/recording-logger.ts'
import { testEndpoint, testRoute } from '../../core/testing/routes.ts'
import { families } from '../../net/ip.ts'
import type { Family } from '../../net/ip.ts'
import { decodeConfig, layout } from './layout.ts'
import { ipv4Backend } from './testing/ipv4-backend.ts'
import { cgroup, MemoryNode, testSettings } from './testing/memory-node.ts'
import { damageSockets } from './testing/socket-damage.ts'
import { SocketsUnderTest } from './testing/sockets-under-test.ts'

let stop = new AbortController()
afterEach(() => stop.abort())

/** Both families are programmed, look every second, and repair what they find. */
async function watchedSockets() {
  stop = new AbortController()
  const sockets = new SocketsUnderTest()
  for (const family of families) await sockets.sync(family, { full: true })
  const found: Family[] = []
  for (const family of families) {
    const repair = () => {
      found.push(family)
      void sockets.sync(family, { full: true })
    }
    void sockets.backend(family).watch(repair, stop.signal)
  }
  await sockets.clock.advance(5_000)
  return { sockets, found }
}

test('the tables are read for both families at once', async () => {
  const { sockets } = await watchedSockets()
  let reads = 0
  sockets.calls.before = ({ door, method, args }) => {
    if (door === 'map fl_frontends' && method === 'packedPart' && args[0] === undefined) reads++
  }
  await sockets.clock.advance(60_000)
  expect(reads).toBe(20)
})

test('both hear of what others did within five seconds, whoever of them has read it, and then all is well', async () => {
  for (const delayMs of [0, 999, 1_000, 2_500, 3_000]) {
    const { sockets, found } = await watchedSockets()
    await sockets.clock.advance(delayMs)
    await damageSockets(sockets.node, { kind: 'a node address too much', which: 0, value: 7 })
    await sockets.clock.advance(5_000)
    expect(found.toSorted()).toEqual(families)
    await sockets.clock.advance(60_000)
    expect(found.toSorted()).toEqual(families)
    stop.abort()
  }
})

test('what is written between two steps of a look is no difference, and does not wait for its end', async () => {
  stop = new AbortController()
  const clock = new FakeClock()
  let goOn = () => {}
  clock.sleep = () => new Promise((resolve) => (goOn = resolve))
  const step = async () => {
    goOn()
    await setImmediate()
  }
  const balancer = new MemoryNode().newBalancer(clock, { families: ['ipv4'] })
  const backend = ipv4Backend({ balancer, clock })
  const routes = [1, 2, 3, 4].map((number) =>
    testRoute(`shop/web-${number}`, {
      clusterIP: `10.96.0.${number}`,
      endpoints: [testEndpoint(`10.64.1.${number}`, 80)],
    }),
  )
  const sync = async (count: number, full = false) => {
    const wanted = routes.slice(0, count).map((route) => [route.key, route] as const)
    const view = viewOf(addressPlans.ipv4, new Map(wanted), [])
    await backend.sync(view, { full, keys: routes.map(({ key }) => key), causes: [] }, stop.signal)
  }
  await sync(3, true)
  const synced: ('meanwhile' | 'afterwards')[] = []
  for (let steps = 0; steps < 12; steps++) {
    const state = { hasEnded: false }
    const look = balancer.lookForDifference('ipv4', 0, stop.signal).finally(() => (state.hasEnded = true))
    for (let done = 0; done < steps; done++) await step()
    await sync(steps % 2 === 0 ? 4 : 3)
    synced.push(state.hasEnded ? 'afterwards' : 'meanwhile')
    while (!state.hasEnded) await step()
    expect(await look).toBeUndefined()
  }
  expect(new Set(synced)).toEqual(new Set(['meanwhile', 'afterwards']))
})

test('a look that failed has seen nothing: the next one need not wait', async () => {
  const sockets = new SocketsUnderTest()
  for (const family of families) await sockets.sync(family, { full: true })
  sockets.calls.before = ({ method }) => {
    if (method === 'packedPart') throw new Error('the kernel refuses it')
  }
  stop = new AbortController()
  const look = async () => {
    const found = sockets.balancer.lookForDifference('ipv4', 3_000, stop.signal).catch(String)
    await sockets.clock.advance(0)
    return found
  }
  expect(await look()).toContain('the kernel refuses it')
  sockets.calls.before = () => {}
  await damageSockets(sockets.node, { kind: 'a node address too much', which: 0, value: 7 })
  expect(await look()).toContain('in the map node_addresses')
})

test('a lease that somebody has ended is renewed at the next look', async () => {
  const { sockets, found } = await watchedSockets()
  const bytes = () => sockets.node.mapsAt('connect4')?.config.bytes ?? new Uint8Array()
  const lease = () => decodeConfig(bytes()).leaseUntil
  const before = lease()
  bytes().fill(0, layout.config.leaseUntil, layout.config.leaseUntil + 8)
  await sockets.clock.advance(1_000)
  expect(lease()).toBeGreaterThan(before)
  expect(found).toEqual([])
})

test.each(['only watches', 'syncs'])(
  'while the writes of one family fail, the lease runs out, although the other one %s; then it goes on',
  async (does) => {
    stop = new AbortController()
    const sockets = new SocketsUnderTest()
    for (const family of families) await sockets.sync(family, { full: true })
    void sockets.backend('ipv4').watch(() => void sockets.sync('ipv4', { full: true }), stop.signal)
    const { calls, clock } = sockets
    const leftMs = () => {
      const { leaseUntil } = decodeConfig(sockets.node.mapsAt('connect4')!.config.bytes)
      return Number(leaseUntil) / 1e6 - clock.monotonic()
    }
    for (let minute = 0; minute < 6; minute++) {
      calls.before = ({ door, method }) => {
        if (door === 'map fl_config' || method === 'replace') throw new Error('the kernel refuses it')
      }
      // Something of its own is to be written: its settings were changed.
      sockets.node.mapsAt('connect4')!.config.bytes.fill(0, layout.config.flags, layout.config.flags + 1)
      await expect(sockets.sync('ipv6', { full: true })).rejects.toThrow('the kernel refuses it')
      calls.before = () => {}
      if (does === 'syncs') await sockets.sync('ipv4', { full: true })
      await clock.advance(60_000)
    }
    expect(leftMs()).toBeLessThan(0)
    await sockets.sync('ipv6', { full: true })
    expect(leftMs()).toBe(testSettings.leaseMs)
    await clock.advance(600_000)
    expect(leftMs()).toBeGreaterThan(testSettings.leaseMs / 2)
  },
)

test('an address that the node gets or loses is told of where it is a cluster IP, and nowhere else', async () => {
  const clock = new FakeClock()
  const balancer = new MemoryNode().newBalancer(clock, { families: ['ipv4'] })
  let ownIps: ReadonlySet<string> = new Set(['192.168.7.1'])
  const backend = ipv4Backend({ balancer, clock, node: () => ({ ownIps, nodePortIps: new Set() }) })
  const route = testRoute('kube-system/dns', { clusterIP: '10.96.0.10', endpoints: [testEndpoint('10.64.1.1', 53)] })
  const view = viewOf(addressPlans.ipv4, new Map([[route.key, route]]), [])
  const sync = (full = false) => backend.sync(view, { full, keys: [], causes: [] }, stop.signal)
  stop = new AbortController()
  await sync(true)
  const found: string[] = []
  void backend.watch((finding) => {
    found.push(finding)
    void sync()
  }, stop.signal)
  ownIps = new Set(['192.168.7.1', '192.168.7.2'])
  await clock.advance(5_000)
  expect(found).toEqual([])
  ownIps = new Set(['192.168.7.1', '10.96.0.10'])
  await clock.advance(5_000)
  expect(found).toEqual(['the cluster IP 10.96.0.10 is an address of this node now'])
  ownIps = new Set(['192.168.7.1'])
  await clock.advance(5_000)
  expect(found.slice(1)).toEqual(['the cluster IP 10.96.0.10 is no address of this node any more'])
})

test('programs of others at the same sockets are told of once, with the order in which they run', async () => {
  const node = new MemoryNode()
  const [clock, log, sharing] = [new FakeClock(), new RecordingLogger(), 'shared'] as const
  node.kernel.attachForeign(cgroup, 'connect4', { id: 901, name: 'guard', sharing })
  const backend = ipv4Backend({ balancer: node.newBalancer(clock, { families: ['ipv4'], log }), clock })
  stop = new AbortController()
  await backend.sync(viewOf(addressPlans.ipv4, new Map(), []), { full: true, keys: [], causes: [] }, stop.signal)
  void backend.watch(() => {}, stop.signal)
  node.kernel.attachForeign(cgroup, 'sendmsg6', { id: 902, name: undefined, sharing })
  await clock.advance(10_000)
  const message = 'another program runs at the same sockets'
  expect(log.at('warn')).toEqual([
    { level: 'warn', message, fields: { at: 'sendmsg6', program: 902, runs: 'after ours' } },
    { level: 'warn', message, fields: { at: 'connect4', program: 'guard', runs: 'before ours' } },
  ])
})
