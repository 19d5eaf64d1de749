/** Property tests trust a model of the programs. Here the model meets the programs themselves, over random tables. */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { configFlags } from '../../src/backends/ebpf/layout.ts'
import type { MapName } from '../../src/backends/ebpf/layout.ts'
import { choicesOf } from '../../src/backends/ebpf/testing/hook-model.ts'
import type { Choice, ModelMaps } from '../../src/backends/ebpf/testing/hook-model.ts'
import { families, hostPort, isLoopback, isUnspecified } from '../../src/net/ip.ts'
import type { Family } from '../../src/net/ip.ts'
import { listenUdp } from '../packet/testing/echo-server.ts'
import type { Answer } from '../packet/testing/echo-server.ts'
import type { Namespace } from '../packet/testing/namespace.ts'
import { ClientSocket, parsePlace } from './testing/client-socket.ts'
import type { Hooks } from './testing/hooks.ts'
import { nodeAddresses, serverPlaces } from './testing/lab.ts'
import type { Lab } from './testing/lab.ts'
import { describeSockets } from './testing/socket-lab.ts'

const places = {
  ipv4: ['10.96.0.1:80', '10.96.0.2:80', '10.96.0.1:30080', '10.77.2.1:30080', '127.0.0.1:30080', '0.0.0.0:30080'],
  ipv6: ['[fd96::1]:80', '[fd96::2]:80', '[fd96::1]:30080', '[fd77:2::1]:30080', '[::1]:30080', '[::]:30080'],
} as const
const nodePorts = { ipv4: ' 30080', ipv6: '6 30080' } as const

type Protocol = 'tcp' | 'udp'
const protocols = ['tcp', 'udp'] as const
const familyAndProtocol = fc.tuple(fc.constantFrom('ipv4', 'ipv6'), fc.constantFrom(...protocols))
const endpoints = (of: 'ipv4' | 'ipv6') =>
  fc.oneof(
    { weight: 3, arbitrary: fc.subarray([...serverPlaces[of]], { minLength: 1 }) },
    fc.constantFrom('refuse' as const, 'pass' as const),
  )
const frontends = (of: 'ipv4' | 'ipv6', protocol: Protocol) =>
  fc.subarray([...places[of].slice(0, 3).map((place) => `${protocol} ${place}`), `${protocol}${nodePorts[of]}`])
const service = familyAndProtocol.chain(([of, protocol]) =>
  fc.record({
    at: frontends(of, protocol),
    internal: endpoints(of),
    externalAt: frontends(of, protocol),
    external: endpoints(of),
    affinitySeconds: fc.constantFrom(0, 0, 100),
    ended: fc.subarray([...serverPlaces[of]], { maxLength: 2 }),
    closed: fc.subarray([...serverPlaces[of]], { maxLength: 2 }),
  }),
)
const config = fc.record({
  with: fc.constantFrom(0, 0, 0, configFlags.hostOnly),
  without: fc.constantFrom(0, 0, 0, configFlags.tcp, configFlags.udpSend, configFlags.loopbackNodePorts),
  isLeaseOver: fc.constantFrom(false, false, false, true),
})

await describeSockets('the model of the programs', ({ hooks, nodes }) => {
  const open: Disposable[] = []
  beforeAll(() => {
    for (const of of families) open.push(...answerUdpAt(nodes, places[of]))
  })
  afterAll(() => open.forEach((server) => server[Symbol.dispose]()))

  test('says what they do', async () => {
    const seen = { tcp: new Set<string>(), udp: new Set<string>() }
    const table = fc.record({
      services: fc.array(service, { maxLength: 6 }),
      nodeAddresses: fc.subarray(Object.values(nodeAddresses)),
      config,
    })
    await fc.assert(
      fc.asyncProperty(table, async ({ services, nodeAddresses: served, config: { isLeaseOver, ...flags } }) => {
        await hooks.clear()
        await hooks.serveNodePortsAt(...served)
        const now = process.hrtime.bigint()
        await hooks.configure({ ...flags, leaseUntil: isLeaseOver ? now - 1_000_000_000n : now + 10n ** 12n })
        for (const { ended, closed, ...wanted } of services) {
          const made = await hooks.serve(wanted)
          for (const place of closed) if (made.has(place)) await made.closeForNew(place)
          for (const place of ended) if (made.has(place)) await made.end(place)
        }
        const maps = await mapsOf(hooks)
        for (const protocol of protocols)
          for (const of of families)
            for (const place of places[of])
              for (const namespace of [nodes.host, nodes.pod]) {
                const isInHostNetns = namespace === nodes.host
                const asked = { ...parsePlace(place), protocol: protocol === 'tcp' ? 'TCP' : 'UDP' } as const
                const client = { ...asked, isInHostNetns, now }
                const expected = choicesOf(maps, client).map((choice) => shown(choice, hooks.refuse))
                const happened = await outcomes[protocol](namespace, of, place)
                seen[protocol].add(happened.startsWith('[') || happened.startsWith('1') ? 'endpoint' : happened)
                const whence = isInHostNetns ? 'the host' : 'a pod'
                expect(expected, `${protocol} ${place} from ${whence}`).toContain(happened)
              }
      }),
      { numRuns: 40 },
    )
    // A program does not expect that sending is refused.
    expect(seen.udp).toEqual(new Set(['endpoint', 'pass']))
    expect(seen.tcp).toEqual(new Set(['endpoint', 'pass', ...(hooks.refuse ? ['refuse'] : [])]))
  })
})

/** Instead of the packet path. The pod's loopback is its own. */
function answerUdpAt({ host, pod }: Lab, all: readonly string[]): readonly Disposable[] {
  return all.flatMap((place) => {
    const { ip, port } = parsePlace(place)
    if (isUnspecified(ip)) return []
    const atHost = listenUdp(host, 'packets', ip, port)
    return isLoopback(ip) ? [atHost, listenUdp(pod, 'the pod itself', ip, port)] : [atHost]
  })
}

const outcomes = {
  async tcp(namespace: Namespace, family: Family, place: string): Promise<string> {
    using socket = ClientSocket.tcp(namespace, family)
    const connected = socket.connect(place)
    if (connected === 'ECONNREFUSED') return 'refuse'
    expect(connected).toBe('ok')
    return reached(await socket.read())
  },

  async udp(namespace: Namespace, family: Family, place: string): Promise<string> {
    using socket = ClientSocket.udp(namespace, family)
    expect(socket.send('hello', place)).toBe('ok')
    const { answer } = await socket.receive()
    return reached(answer)
  },
}

function reached({ answeredBy }: Answer): string {
  return ['packets', 'the pod itself'].includes(answeredBy) ? 'pass' : hostPort(answeredBy, 8080)
}

/** Old kernels leave refusing to the packet path. */
function shown(choice: Choice, canRefuse: boolean): string {
  if (choice.kind === 'endpoint') return choice.address
  return choice.kind === 'refuse' && !canRefuse ? 'pass' : choice.kind
}

/** The real ones, as the model wants them. */
async function mapsOf(hooks: Hooks): Promise<ModelMaps> {
  const hash = async (name: MapName) => ({
    entriesByKey: new Map(
      (await hooks.map(name).entries()).map((entry) => [Buffer.from(entry[0]).toString('latin1'), entry] as const),
    ),
    bytes: new Uint8Array(),
  })
  const array = (name: MapName) => ({ entriesByKey: new Map(), bytes: hooks.map(name).bytes })
  const nothing = { entriesByKey: new Map(), bytes: new Uint8Array() }
  return {
    frontends: await hash('frontends'),
    node_addresses: await hash('node_addresses'),
    services: array('services'),
    slots: array('slots'),
    endpoints: array('endpoints'),
    config: array('config'),
    service_stats: nothing,
    endpoint_stats: nothing,
    affinity: nothing,
    connected: nothing,
    datagrams: nothing,
    stale: nothing,
  }
}
