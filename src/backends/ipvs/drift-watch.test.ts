import { describe, expect, test } from 'vitest'
import { testEndpoint, testRoute } from '../../core/testing/routes.ts'
import type { MemoryKernel } from './testing/memory-kernel.ts'
import { proxiedNode } from './testing/proxied-node.ts'

const never = new AbortController().signal

const endpoint = testEndpoint('10.64.0.1', 8080, { isLocal: true })
const webPort = { endpoints: [endpoint], loadBalancerIPs: ['198.51.100.1'], sourceRanges: ['203.0.113.0/24'] }
const web = testRoute('shop/web', webPort)
const server = { ip: web.clusterIP, port: web.port, protocol: web.protocol }
const stranger = { ip: '203.0.113.9', port: 80, protocol: 'TCP', scheduler: 'rr', flags: 0, timeoutSeconds: 0 } as const

/** A node in its steady state, whose watch has looked once. */
async function watched(options: Parameters<typeof proxiedNode>[0] = {}) {
  const node = proxiedNode({ ...options, looksForDrift: true })
  await node.sync([web], { full: true })
  const found: string[] = []
  const stop = new AbortController()
  const watching = node.backend.watch((what) => found.push(what), stop.signal)
  await node.clock.advance(0)
  const end = async () => {
    stop.abort()
    await watching
  }
  return { ...node, found, end }
}

const vandalism: Readonly<Record<string, (kernel: MemoryKernel) => Promise<unknown>>> = {
  'virtual server 10.96.0.10:80/TCP is missing': ({ ipvs }) => ipvs.apply([{ kind: 'delete-server', server }], never),
  'virtual server 10.96.0.10:80/TCP was changed': ({ ipvs }) =>
    ipvs.apply([{ kind: 'edit-server', server: { ...stranger, ...server, scheduler: 'sh' } }], never),
  'virtual server 203.0.113.9:80/TCP belongs to no Service': ({ ipvs }) =>
    ipvs.apply([{ kind: 'add-server', server: stranger }], never),
  'virtual server 10.96.0.10:80/TCP lacks 10.64.0.1:8080': ({ ipvs }) =>
    ipvs.apply([{ kind: 'delete-real-server', server, realServer: endpoint }], never),
  'virtual server 10.96.0.10:80/TCP has 10.64.9.9:1, which is not ours': ({ ipvs }) =>
    ipvs.apply([{ kind: 'add-real-server', server, realServer: { ip: '10.64.9.9', port: 1, weight: 1 } }], never),
  'set KUBE-CLUSTER-IP lacks 10.96.0.10,tcp:80': ({ ipset }) => ipset.flush('KUBE-CLUSTER-IP', never),
  'set KUBE-CLUSTER-IP has 10.96.0.99,tcp:80, which is not ours': ({ ipset }) =>
    ipset.apply([{ kind: 'add', set: 'KUBE-CLUSTER-IP', entry: '10.96.0.99,tcp:80' }], never),
  'set KUBE-NODE-PORT-UDP is missing': ({ ipset }) => ipset.destroy('KUBE-NODE-PORT-UDP', never),
  'link kube-ipvs0 lacks 10.96.0.10': ({ addresses }) => addresses.removeDummy('kube-ipvs0', never),
  'link kube-ipvs0 has 203.0.113.9, which is not ours': ({ addresses }) =>
    addresses.add('kube-ipvs0', ['203.0.113.9'], never),
  'chain nat/KUBE-SERVICES was changed': ({ iptables }) =>
    iptables.restore('*nat\n-I KUBE-SERVICES -j RETURN\nCOMMIT\n', never),
  'chain filter/KUBE-IPVS-FILTER was changed': ({ iptables }) =>
    iptables.restore('*filter\n:KUBE-IPVS-FILTER - [0:0]\nCOMMIT\n', never),
  'the jump from nat/PREROUTING is missing: -m comment --comment "kubernetes service portals" -j KUBE-SERVICES': ({
    iptables,
  }) =>
    iptables.restore(
      '*nat\n-D PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES\nCOMMIT\n',
      never,
    ),
  'chain filter/KUBE-IPVS-OUT-FILTER lacks -s 198.51.100.1/32 -m ipvs --vproto 6 --vaddr 198.51.100.1 --vport 80 -j DROP':
    ({ iptables }) => iptables.restore('*filter\n:KUBE-IPVS-OUT-FILTER - [0:0]\nCOMMIT\n', never),
}

describe('is noticed within five seconds, and repaired by a full sync', () => {
  test.each(Object.entries(vandalism))('%s', async (what, destroy) => {
    const node = await watched()
    await node.clock.advance(2_000)
    expect(node.found).toEqual([])
    const healthy = await node.kernel.snapshot()
    await destroy(node.kernel)
    await node.clock.advance(5_000)
    expect(node.found[0]).toBe(what)
    await node.sync([web], { full: true })
    expect(await node.kernel.snapshot()).toEqual(healthy)
    node.found.length = 0
    await node.clock.advance(120_000)
    expect(node.found).toEqual([])
    await node.end()
  })
})

test('a new address of the node is noticed, because node ports are open there too', async () => {
  const { kernel, sync, clock, found, end } = await watched()
  kernel.addresses.addLink('eth1', { ip: '192.0.2.77', prefixLength: 24 })
  await clock.advance(5_000)
  expect(found[0]).toBe('this node has 192.0.2.77, which is not ours')
  await sync([testRoute('shop/web', { ...webPort, nodePort: 30_080 })], { full: true })
  expect(await kernel.snapshot()).toContain('server 192.0.2.77:30080/TCP rr 0 0')
  await end()
})

test('what operators may do is no drift: another weight, an excluded virtual server, addresses of the kernel', async () => {
  const { kernel, clock, found, end } = await watched({ settings: { excludeCidrs: ['203.0.113.0/24'] } })
  await kernel.ipvs.apply(
    [
      { kind: 'add-server', server: stranger },
      { kind: 'edit-real-server', server, realServer: { ...endpoint, weight: 7 } },
    ],
    never,
  )
  await kernel.addresses.add('kube-ipvs0', ['fe80::1'], never)
  await clock.advance(10_000)
  expect(found).toEqual([])
  await end()
})

test('a failed sync is found, since nobody knows what the kernel holds', async () => {
  const { kernel, sync, clock, found, end } = await watched()
  kernel.iptables.failWith = 'locked'
  await expect(sync([])).rejects.toThrow('locked')
  await clock.advance(2_000)
  expect(found[0]).toBe('the last sync failed')
  await end()
})

test('a sync that takes long is not taken for one that failed', async () => {
  const { kernel, sync, clock, found, end } = await watched()
  const list = kernel.ipset.list.bind(kernel.ipset)
  kernel.ipset.list = async (names, signal) => {
    await clock.sleep(30_000, signal)
    return list(names, signal)
  }
  const syncing = sync([web], { full: true })
  await clock.advance(60_000)
  await syncing
  expect(found).toEqual([])
  await end()
})

test('a fight over the same thing gets slower and slower', async () => {
  const { kernel, sync, clock, found, end } = await watched()
  for (let seconds = 0; seconds < 600; seconds += 2) {
    await kernel.ipset.flush('KUBE-CLUSTER-IP', never)
    const before = found.length
    await clock.advance(2_000)
    if (found.length > before) await sync([web], { full: true })
  }
  expect(found.length).toBeGreaterThan(5)
  expect(found.length).toBeLessThan(20)
  await end()
})

test('a read that a sync disturbs is not compared, and with syncs all the time one is waited for', async () => {
  const { kernel, sync, clock, found, end } = await watched()
  const { ipset } = kernel
  const list = ipset.list.bind(ipset)
  let isLooking = true
  // Each read meets a sync.
  ipset.list = async (names, signal) => {
    const listed = await list(names, signal)
    if (isLooking) void sync([{ ...web }])
    return listed
  }
  await clock.advance(10_000)
  expect(found).toEqual([])
  await kernel.ipset.flush('KUBE-CLUSTER-IP', never)
  await clock.advance(10_000)
  isLooking = false
  expect(found[0]).toBe('set KUBE-CLUSTER-IP lacks 10.96.0.10,tcp:80')
  await end()
})

test('a look that takes long comes seldom', async () => {
  const { kernel, clock, end } = await watched()
  const list = kernel.ipvs.list.bind(kernel.ipvs)
  kernel.ipvs.list = async (signal) => {
    await clock.sleep(1_000, signal)
    return list(signal)
  }
  kernel.ipvs.reads = 0
  await clock.advance(600_000)
  expect(kernel.ipvs.reads).toBeGreaterThan(8)
  expect(kernel.ipvs.reads).toBeLessThan(14)
  await end()
})
