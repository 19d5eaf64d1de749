import { expect, test } from 'vitest'
import type { Route } from '../../core/route.ts'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { addressPlans, viewOf } from '../../core/testing/random-cluster.ts'
import { testEndpoint, testRoute, withWishes } from '../../core/testing/routes.ts'
import { RecordingLogger } from '../../core/testing/recording-logger.ts'
import type { Bpf } from '../../dataplane/ebpf/bpf.ts'
import { MemoryBpf } from '../../dataplane/ebpf/memory-bpf.ts'
import { MemorySockets } from '../../dataplane/sock-diag/memory-sockets.ts'
import { SocketsError } from '../../dataplane/sock-diag/sockets.ts'
import type { ConnectedSocket } from '../../dataplane/sock-diag/sockets.ts'
import { hostPort } from '../../net/ip.ts'
import { addressBytes } from './address-bytes.ts'
import { configFlags, decodeConfig, decodeEndpoint, layout, layoutVersion } from './layout.ts'
import type { SocketProtocol } from './layout.ts'
import { StaleSockets } from './stale-sockets.ts'
import { recordsIn } from './testing/describe-tables.ts'
import type { ModelMaps } from './testing/hook-model.ts'
import { ipv4Backend } from './testing/ipv4-backend.ts'
import type { SocketSettings } from './settings.ts'
import { folder, MemoryNode, testSettings } from './testing/memory-node.ts'

const never = new AbortController().signal
const [one, two] = [testEndpoint('10.64.1.1', 53), testEndpoint('10.64.1.2', 53)]
const [six, seven] = [testEndpoint('10.64.1.6', 80), testEndpoint('10.64.1.7', 80)]
const dns = testRoute('kube-system/dns', { protocol: 'UDP', port: 53, endpoints: [one, two] })

interface Before {
  readonly node: MemoryNode
  readonly sockets: MemorySockets
  readonly connected: Connected[]
}

/** A node with programs that connect to endpoints of `dns`; or a process that starts on a node where there was one before. */
function newNode(
  { node, sockets, connected }: Before = { node: new MemoryNode(), sockets: new MemorySockets(), connected: [] },
  { door, ...settings }: Partial<SocketSettings> & { readonly door?: (bpf: Bpf) => Bpf } = {},
) {
  const clock = new FakeClock()
  const log = new RecordingLogger()
  const destroyed: string[] = []
  const looks = { count: 0 }
  const iterator = { ...iteratorImage, mapLoads: [] }
  const onDestroyed = (protocol: string, count: number) => destroyed.push(`${count} ${protocol}`)
  const balancer = node.newBalancer(clock, {
    families: ['ipv4'],
    stale: { iterator, sockets, onDestroyed },
    settings: { ...testSettings, ...settings },
    log,
    ...(door && { door }),
  })
  const backend = ipv4Backend({ balancer, clock })
  node.kernel.onIterate = () => {
    looks.count++
    report(mapsOf(node), connected)
  }
  return {
    node,
    clock,
    sockets,
    connected,
    destroyed,
    looks,
    balancer,
    warnings: () => log.at('warn').map(({ message }) => message),
    sync: (...routes: readonly Route[]) =>
      backend.sync(
        viewOf(addressPlans.ipv4, new Map(routes.map((route) => [route.key, route])), []),
        { full: false, keys: [dns.key, web.key, ...routes.map(({ key }) => key)], causes: [] },
        never,
      ),
    connect: (
      cookie: bigint,
      address: string,
      protocol: SocketProtocol = 'UDP',
      asked = usualPlace[protocol],
      netns = 7n,
    ) => {
      const maps = mapsOf(node)
      const record = recordsIn(maps).find(({ ip, port }) => hostPort(ip, port) === address)
      if (record === undefined) throw new Error(`${address} is no endpoint`)
      const { id, ip, port, generation, service } = record
      connected.push({ cookie, netns, id, generation, service, ip, port, protocol, asked, layout: layoutVersion })
      sockets.connect({ cookie, netns, protocol, ip, port })
      const { picked, udpConnects, size } = layout.endpointStats
      maps.endpoint_stats.bytes[id * size + (protocol === 'UDP' ? udpConnects : picked)] = 1
    },
  }
}

const usualPlace: Readonly<Record<SocketProtocol, string>> = { UDP: '10.96.0.10:53', TCP: '10.96.0.10:80' }

interface Connected {
  readonly cookie: bigint
  readonly netns: bigint
  readonly id: number
  readonly generation: number
  readonly service: number
  readonly ip: string
  readonly port: number
  readonly protocol: SocketProtocol
  readonly asked: string
  /** That it was connected under. */
  readonly layout: number
}

const iteratorImage = {
  name: 'fl_stale',
  section: 'iter/bpf_sk_storage_map',
  attachType: 'iterator',
  license: 'Apache-2.0',
  instructions: new Uint8Array(8),
  sourceLines: [],
} as const

function mapsOf(node: MemoryNode): ModelMaps {
  const maps = node.mapsAt('connect4')
  if (maps === undefined) throw new Error('no program runs')
  return maps
}

/** What the iterator does. */
function report(maps: ModelMaps, connected: readonly Connected[]): void {
  const stale = Buffer.from(maps.stale.bytes.buffer)
  const { size, cookie, netns, endpointAddress, serviceAddress, endpointPort, servicePort, service } =
    layout.staleReport
  const [mask, bits] = [layout.staleSearch.mask, layout.staleSearch.bits].map((at) => stale.readBigUInt64LE(at))
  let count = 0
  for (const socket of connected) {
    const record = decodeEndpoint(maps.endpoints.bytes, socket.id * layout.endpoint.size)
    if (record.generation === socket.generation || (socket.cookie & mask!) !== bits) continue
    const at = ++count * size
    if (at + size > stale.length) continue
    stale.writeBigUInt64LE(socket.cookie, at + cookie)
    stale.writeBigUInt64LE(socket.netns, at + netns)
    const [askedIp = '', askedPort] = socket.asked.split(':')
    stale.set(addressBytes(socket.ip), at + endpointAddress)
    stale.writeUInt16BE(socket.port, at + endpointPort)
    stale.set(addressBytes(askedIp), at + serviceAddress)
    stale.writeUInt16BE(Number(askedPort), at + servicePort)
    const kind = socket.protocol === 'UDP' ? 2 ** 30 : 0
    stale.writeUInt32LE(socket.service + socket.layout * 2 ** 24 + kind, at + service)
  }
  stale.writeBigUInt64LE(BigInt(count), 0)
}

test('a datagram socket whose endpoint has ended is told after the sync, and one beside it is not', async () => {
  const { sync, connect, sockets, destroyed } = newNode()
  await sync(dns)
  connect(1n, one.address)
  connect(2n, two.address)
  await sync(withWishes(dns, { endpoints: [two] }))
  expect(sockets.connected().map(({ cookie }) => cookie)).toEqual([2n])
  expect(destroyed).toEqual(['1 UDP'])
})

test('a socket of tables of another layout is told if nobody is at the address of its endpoint any more', async () => {
  const { sync, connect, connected, sockets } = newNode()
  await sync(dns)
  connect(1n, one.address)
  connect(2n, two.address)
  // The same numbers mean others now.
  for (const [index, socket] of connected.entries())
    connected[index] = { ...socket, id: 0, service: 30, generation: 999, layout: layoutVersion - 1 }
  await sync(withWishes(dns, { endpoints: [two] }))
  expect(sockets.connected().map(({ cookie }) => cookie)).toEqual([2n])
})

test('an endpoint that serves on, but is chosen no more, keeps its sockets', async () => {
  const { sync, connect, sockets } = newNode()
  await sync(dns)
  connect(1n, one.address)
  await sync(withWishes(dns, { clusterEndpoints: [two] }))
  expect(sockets.connected()).toHaveLength(1)
})

test('sockets are told where somebody serves, even if nobody new of this node may go there', async () => {
  const { sync, connect, sockets } = newNode()
  const here = testEndpoint('10.64.1.1', 53, { isLocal: true })
  const local = withWishes(dns, { internalPolicy: 'Local', endpoints: [here, two] })
  await sync(local)
  connect(1n, here.address)
  await sync(withWishes(local, { endpoints: [two] }))
  expect(sockets.connected()).toEqual([])
})

test.each([
  ['another comes', [withWishes(dns, { endpoints: [two] })]],
  ['their Service goes, because nobody will come', []],
])('sockets of the last endpoint stay, and are told when %s', async (_, routes) => {
  const { sync, connect, sockets, clock } = newNode()
  await sync(dns)
  connect(1n, one.address)
  await sync(withWishes(dns, { endpoints: [] }))
  expect(sockets.connected()).toHaveLength(1)
  await clock.advance(1_000)
  await sync(...routes)
  expect(sockets.connected()).toEqual([])
})

test('of more sockets than reports have room for, all are told, and looked for no more when they stay open', async () => {
  const { sync, connect, sockets, destroyed, looks, clock } = newNode()
  await sync(dns)
  // There is room for 8 reports.
  for (let cookie = 1n; cookie <= 40n; cookie++) connect(cookie * 4n, one.address)
  const changed = withWishes(dns, { endpoints: [two] })
  await sync(changed)
  expect(sockets.connected()).toEqual([])
  expect(destroyed.reduce((sum, told) => sum + Number.parseInt(told), 0)).toBe(40)
  const { count } = looks
  for (let second = 0; second < 10; second++) {
    await clock.advance(1_000)
    await sync(changed)
  }
  expect(looks.count).toBe(count)
})

test('those that wait for an endpoint take no room from others', async () => {
  const { sync, connect, sockets, clock } = newNode()
  const ntp = testRoute('shop/ntp', { protocol: 'UDP', port: 123, clusterIP: '10.96.0.11', endpoints: [six, seven] })
  await sync(dns, ntp)
  for (let cookie = 1n; cookie <= 12n; cookie++) connect(cookie, one.address)
  connect(13n, six.address)
  await sync(withWishes(dns, { endpoints: [] }), ntp)
  await clock.advance(1_000)
  await sync(withWishes(dns, { endpoints: [] }), withWishes(ntp, { endpoints: [seven] }))
  expect(sockets.connected().map(({ cookie }) => cookie)).not.toContain(13n)
  expect(sockets.connected()).toHaveLength(12)
})

test('where the kernel cannot destroy sockets, connected datagram sockets are left to the packets from then on', async () => {
  const { sync, connect, sockets, node } = newNode()
  await sync(dns)
  connect(1n, one.address)
  sockets.refuseWith = 'unsupported'
  await sync(withWishes(dns, { endpoints: [two] }))
  expect(decodeConfig(mapsOf(node).config.bytes).flags & configFlags.udpConnect).toBe(0)
})

const given = { UDP: 'connected datagram sockets are left to the packets', TCP: 'TCP connections to endpoints' }

test.each(['UDP', 'TCP'] as const)('where the kernel cannot destroy those of %s, the others are told', async (kind) => {
  const [log, sockets] = [new RecordingLogger(), new MemorySockets()]
  const destroy = async (list: readonly ConnectedSocket[], signal: AbortSignal) => {
    if (list.some(({ protocol }) => protocol === kind)) throw new SocketsError('unsupported', 'load a kernel module')
    return sockets.destroy(list, signal)
  }
  const bpf = new MemoryBpf(new MemoryNode().kernel)
  const stale = new StaleSockets(
    { iterator: { ...iteratorImage, mapLoads: [] }, sockets: { destroy }, onDestroyed() {} },
    { bpf, settings: { endsTcp: true, entersPods: true, hostNetns: 1n }, log },
  )
  const target = { service: 1, list: 'internal' } as const
  const reports = (['UDP', 'TCP'] as const).map((protocol, number) => {
    const socket = { cookie: BigInt(number), netns: 7n, ip: '10.64.1.1', port: 53, protocol }
    sockets.connect(socket)
    return { ...socket, asked: { ip: '10.96.0.10', port: 53 }, target, layout: layoutVersion }
  })
  for (let time = 0; time < 2; time++) {
    await stale.destroy(reports, never)
    expect([sockets.connected().map(({ protocol }) => protocol), stale.isDue]).toEqual([[kind], false])
    expect([stale.tells('UDP'), stale.tells('TCP')]).toEqual([kind !== 'UDP', kind !== 'TCP'])
  }
  expect(log.at('warn').map(({ message }) => message)).toEqual([expect.stringContaining(given[kind])])
})

const outOfReach = {
  UDP: 'connected UDP of pods is left to nftables from now on',
  TCP: 'TCP connections of pods to endpoints that have ended drain',
}
const { udpConnect, udpConnectHostOnly } = configFlags
const connectsOf = (node: MemoryNode) =>
  decodeConfig(mapsOf(node).config.bytes).flags & (udpConnect | udpConnectHostOnly)

test('where a socket of a pod is out of reach twice, those of pods are left to the packets, and nobody looks again', async () => {
  const { sync, connect, sockets, node, clock, looks, warnings, balancer } = newNode()
  await sync(dns)
  connect(1n, one.address)
  sockets.unreachable.add(7n)
  const changed = withWishes(dns, { endpoints: [two] })
  await sync(changed)
  expect([connectsOf(node), warnings()]).toEqual([udpConnect, []])
  for (let second = 0; second < 10; second++) {
    await clock.advance(1_000)
    await sync(changed)
  }
  expect([connectsOf(node), warnings()]).toEqual([udpConnect | udpConnectHostOnly, [outOfReach.UDP]])
  expect(balancer.udpConnect).toBe('host')
  expect(looks.count).toBe(2)
})

test('sockets of pods that can be reached are told as before when another pod is out of reach', async () => {
  const { sync, connect, sockets, connected, clock } = newNode(undefined, { endsTcp: true })
  await sync(dns, web)
  connect(1n, one.address)
  sockets.unreachable.add(7n)
  const changed = withWishes(dns, { endpoints: [two] })
  await sync(changed, web)
  await clock.advance(1_000)
  await sync(changed, web)
  connect(2n, two.address, 'UDP', undefined, 8n)
  connect(3n, six.address, 'TCP', undefined, 8n)
  await clock.advance(1_000)
  await sync(withWishes(dns, { endpoints: [one] }), withWishes(web, { endpoints: [seven] }))
  expect(sockets.connected().map(({ cookie }) => cookie)).toEqual([1n])
  expect(connected).toHaveLength(3)
})

test.each([
  ['was about to close', (connected: Connected[]) => void connected.splice(0)],
  ['can be reached now', (_: Connected[], sockets: MemorySockets) => sockets.unreachable.clear()],
])('a socket that was out of reach and %s changes nothing', async (_, meanwhile) => {
  const { sync, connect, sockets, connected, node, clock, looks, warnings } = newNode()
  await sync(dns)
  connect(1n, one.address)
  sockets.unreachable.add(7n)
  const changed = withWishes(dns, { endpoints: [two] })
  await sync(changed)
  meanwhile(connected, sockets)
  await clock.advance(1_000)
  await sync(changed)
  expect([connectsOf(node), warnings(), looks.count]).toEqual([udpConnect, [], 2])
})

test('where connected UDP of pods is left to the packets anyway, what is out of reach is no news', async () => {
  const { sync, connect, sockets, clock, looks, warnings } = newNode(undefined, {
    udpConnect: 'host',
    entersPods: false,
  })
  await sync(dns)
  connect(1n, one.address)
  sockets.unreachable.add(7n)
  const changed = withWishes(dns, { endpoints: [two] })
  await sync(changed)
  await clock.advance(1_000)
  await sync(changed)
  expect([warnings(), looks.count]).toEqual([[], 1])
})

test('connections of pods that are out of reach drain, and that is said once', async () => {
  const { sync, connect, sockets, clock, node, warnings } = newNode(undefined, { endsTcp: true })
  await sync(web)
  connect(1n, six.address, 'TCP')
  connect(2n, seven.address, 'TCP')
  sockets.unreachable.add(7n)
  await sync(withWishes(web, { endpoints: [seven] }))
  await clock.advance(1_000)
  await sync(withWishes(web, { endpoints: [two] }))
  await clock.advance(1_000)
  expect([sockets.connected().length, warnings(), connectsOf(node)]).toEqual([2, [outOfReach.TCP], udpConnect])
})

test.each([
  ['the node', 7n, []],
  ['a pod', 1n, [1n]],
])(
  'where pods are out of reach from the start, a connection of %s ends only if nobody has to look for it in pods',
  async (_, hostNetns, kept) => {
    const { sync, connect, sockets } = newNode(undefined, { endsTcp: true, entersPods: false, hostNetns })
    await sync(web)
    connect(1n, six.address, 'TCP')
    await sync(withWishes(web, { endpoints: [seven] }))
    expect(sockets.connected().map(({ cookie }) => cookie)).toEqual(kept)
  },
)

test('a socket is told that was connected while its endpoint was counted in a map of which a part was lost', async () => {
  const { node, clock, sockets, connected, sync, connect } = newNode()
  await sync(dns)
  connect(1n, one.address)
  await new MemoryBpf(node.kernel).unpin(`${folder}/maps/endpoint_stats`)
  const next = newNode({ node, sockets, connected })
  await next.sync(dns)
  await clock.advance(1_000)
  await next.clock.advance(1_000)
  await next.sync(withWishes(dns, { endpoints: [two] }))
  expect(sockets.connected()).toEqual([])
})

test('larger maps tell of sockets that connected meanwhile, and cost no look at all sockets', async () => {
  let [connectMeanwhile, looks] = [() => {}, 0]
  const door = (bpf: Bpf) => {
    const [replace, iterate] = [bpf.replace.bind(bpf), bpf.iterate.bind(bpf)]
    bpf.replace = async (...of) => {
      connectMeanwhile()
      return replace(...of)
    }
    bpf.iterate = async (...of) => {
      looks++
      return iterate(...of)
    }
    return bpf
  }
  const { sync, connect, sockets, clock } = newNode(undefined, { door })
  await sync(dns)
  connectMeanwhile = () => {
    connectMeanwhile = () => {}
    connect(1n, one.address)
  }
  const many = Array.from({ length: 60 }, (_, number) =>
    testRoute(`shop/other-${number}`, {
      clusterIP: `10.96.7.${number}`,
      endpoints: [testEndpoint(`10.64.9.${number}`, 80), testEndpoint(`10.64.10.${number}`, 80)],
    }),
  )
  await sync(dns, ...many)
  expect(sockets.connected()).toHaveLength(1)
  const fewer = [withWishes(many[0]!, { endpoints: [] }), ...many.slice(1)]
  await clock.advance(1_000)
  await sync(dns, ...fewer)
  expect(looks).toBe(0)
  await sync(withWishes(dns, { endpoints: [two] }), ...fewer)
  expect([sockets.connected(), looks]).toEqual([[], 1])
})

test('a start finds sockets of endpoints that ended before it, although a map had to be made anew', async () => {
  const { node, sockets, connected, sync, connect } = newNode()
  await sync(dns)
  connect(1n, one.address)
  await new MemoryBpf(node.kernel).unpin(`${folder}/maps/services`)
  await newNode({ node, sockets, connected }).sync(withWishes(dns, { endpoints: [two] }))
  expect(sockets.connected()).toEqual([])
})

test('what failed is tried again, but not more often than once a second', async () => {
  const { sync, connect, sockets, clock } = newNode()
  await sync(dns)
  connect(1n, one.address)
  sockets.refuseWith = 'failed'
  await sync(withWishes(dns, { endpoints: [two] }))
  sockets.refuseWith = undefined
  await sync(withWishes(dns, { endpoints: [two] }))
  expect(sockets.connected()).toHaveLength(1)
  await clock.advance(1_000)
  await sync(withWishes(dns, { endpoints: [two] }))
  expect(sockets.connected()).toEqual([])
})

test('a process that starts tells sockets whose endpoint ended before it, also those that waited for somebody', async () => {
  const before = newNode()
  await before.sync(dns)
  before.connect(1n, one.address)
  await before.sync(withWishes(dns, { endpoints: [] }))
  const after = newNode(before)
  await after.sync(withWishes(dns, { endpoints: [] }))
  expect(after.sockets.connected()).toHaveLength(1)
  await after.clock.advance(1_000)
  await after.sync(withWishes(dns, { endpoints: [two] }))
  expect(after.sockets.connected()).toEqual([])
})

test('a process that starts finds sockets of tables of another layout, which these do not count', async () => {
  const before = newNode()
  await before.sync(dns)
  before.connect(1n, one.address)
  for (const [index, socket] of before.connected.entries())
    before.connected[index] = { ...socket, id: 0, service: 30, generation: 999, layout: layoutVersion - 1 }
  mapsOf(before.node).endpoint_stats.bytes.fill(0)
  const after = newNode(before)
  await after.sync(dns)
  expect(after.sockets.connected()).toHaveLength(1)
  await after.clock.advance(1_000)
  await after.sync(withWishes(dns, { endpoints: [two] }))
  expect(after.sockets.connected()).toEqual([])
})

test('on a node without sockets from before, a first sync looks for none', async () => {
  const { node, sync } = newNode()
  let walks = 0
  node.kernel.onIterate = () => void walks++
  await sync(dns)
  expect(walks).toBe(0)
})

test.each([
  ['renamed', [testRoute('kube-system/dns-2', { protocol: 'UDP', port: 53, endpoints: [one, two] })]],
  ['removed', []],
  ['left to the packets', [{ ...dns, sockets: { balancing: 'off' as const } }]],
])('sockets of a Service that was %s are told: nobody would, later', async (_, routes) => {
  const { sync, connect, sockets } = newNode()
  await sync(dns)
  connect(1n, one.address)
  await sync(...routes)
  expect(sockets.connected()).toEqual([])
})

const [web, renamed] = ['shop/web', 'shop/web-2'].map((name) => testRoute(name, { endpoints: [six, seven] })) as [
  Route,
  Route,
]

test.each([
  ['renamed', [renamed]],
  ['left to the packets', [{ ...web, sockets: { balancing: 'off' as const } }]],
  ['given affinity', [withWishes(web, { affinitySeconds: 60 })]],
])('connections of a Service that was %s go on: their endpoints have not ended', async (_, routes) => {
  const { sync, connect, sockets } = newNode(undefined, { endsTcp: true })
  await sync(web)
  connect(1n, six.address, 'TCP')
  await sync(...routes)
  expect(sockets.connected()).toHaveLength(1)
})

test('connections of a Service that was removed go on while another one has the endpoint', async () => {
  const { sync, connect, sockets } = newNode(undefined, { endsTcp: true })
  const other = testRoute('shop/other', { clusterIP: '10.96.0.13', endpoints: [six] })
  await sync(web, other)
  connect(1n, six.address, 'TCP')
  connect(2n, seven.address, 'TCP')
  await sync(other)
  expect(sockets.connected().map(({ cookie }) => cookie)).toEqual([1n])
})

test.each([
  ['10.96.0.10:80', {}],
  ['127.0.0.1:30080', { nodePort: 30_080 }],
])('connections that asked at %s end with their endpoint there, wherever else it is', async (asked, wishes) => {
  const { sync, connect, sockets } = newNode(undefined, { endsTcp: true })
  // The same pod serves another Service, and DNS by datagrams.
  const others = [
    testRoute('shop/other', { clusterIP: '10.96.0.13', endpoints: [six] }),
    testRoute('shop/udp', { protocol: 'UDP', clusterIP: '10.96.0.12', endpoints: [six] }),
  ]
  const here = withWishes(web, wishes)
  await sync(here, ...others)
  connect(1n, six.address, 'TCP', asked)
  connect(2n, seven.address, 'TCP', asked)
  await sync(withWishes(here, { endpoints: [seven] }), ...others)
  expect(sockets.connected().map(({ cookie }) => cookie)).toEqual([2n])
})

test('after an upgrade only the end of an endpoint that has sockets of before costs a look', async () => {
  const before = newNode()
  await before.sync(dns, web)
  before.connect(1n, one.address)
  for (const [index, socket] of before.connected.entries())
    before.connected[index] = { ...socket, id: 0, service: 30, generation: 999, layout: layoutVersion - 1 }
  mapsOf(before.node).endpoint_stats.bytes.fill(0)
  const after = newNode(before)
  await after.sync(dns, web)
  expect(after.looks.count).toBe(1)
  await after.clock.advance(1_000)
  await after.sync(dns, withWishes(web, { endpoints: [seven] }))
  expect(after.looks.count).toBe(1)
  await after.clock.advance(1_000)
  await after.sync(withWishes(dns, { endpoints: [two] }))
  expect([after.looks.count, after.sockets.connected()]).toEqual([2, []])
  await after.clock.advance(1_000)
  await after.sync(withWishes(dns, { endpoints: [one] }))
  expect(after.looks.count).toBe(2)
})
