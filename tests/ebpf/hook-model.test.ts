/** Property tests trust a model of the programs. Here the model meets the programs themselves, over random tables. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { configFlags } from '../../src/backends/ebpf/layout.ts'
import type { MapName } from '../../src/backends/ebpf/layout.ts'
import { choicesOf } from '../../src/backends/ebpf/testing/hook-model.ts'
import type { Choice, ModelMaps } from '../../src/backends/ebpf/testing/hook-model.ts'
import { hostPort } from '../../src/net/ip.ts'
import { ClientSocket, parsePlace } from './testing/client-socket.ts'
import type { Hooks } from './testing/hooks.ts'
import { nodeAddresses, serverPlaces } from './testing/lab.ts'
import { describeSockets } from './testing/socket-lab.ts'

const places = {
  ipv4: ['10.96.0.1:80', '10.96.0.2:80', '10.96.0.1:30080', '10.77.2.1:30080', '127.0.0.1:30080', '0.0.0.0:30080'],
  ipv6: ['[fd96::1]:80', '[fd96::2]:80', '[fd96::1]:30080', '[fd77:2::1]:30080', '[::1]:30080', '[::]:30080'],
} as const
const nodePorts = { ipv4: 'tcp 30080', ipv6: 'tcp6 30080' } as const

const family = fc.constantFrom('ipv4', 'ipv6')
const endpoints = (of: 'ipv4' | 'ipv6') =>
  fc.oneof(
    { weight: 3, arbitrary: fc.subarray([...serverPlaces[of]], { minLength: 1 }) },
    fc.constantFrom('refuse' as const, 'pass' as const),
  )
const frontends = (of: 'ipv4' | 'ipv6') =>
  fc.subarray([...places[of].slice(0, 3).map((place) => `tcp ${place}`), nodePorts[of]])
const service = family.chain((of) =>
  fc.record({
    at: frontends(of),
    internal: endpoints(of),
    externalAt: frontends(of),
    external: endpoints(of),
    affinitySeconds: fc.constantFrom(0, 0, 100),
    ended: fc.subarray([...serverPlaces[of]], { maxLength: 2 }),
    closed: fc.subarray([...serverPlaces[of]], { maxLength: 2 }),
  }),
)
const config = fc.record({
  with: fc.constantFrom(0, 0, 0, configFlags.hostOnly),
  without: fc.constantFrom(0, 0, 0, configFlags.tcp, configFlags.loopbackNodePorts),
  isLeaseOver: fc.constantFrom(false, false, false, true),
})

await describeSockets('the model of the programs', ({ hooks, nodes }) => {
  test('says what they do', async () => {
    const seen = new Set<string>()
    const table = fc.record({
      services: fc.array(service, { maxLength: 4 }),
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
        for (const of of ['ipv4', 'ipv6'] as const)
          for (const place of places[of])
            for (const namespace of [nodes.host, nodes.pod]) {
              const isInHostNetns = namespace === nodes.host
              const client = { ...parsePlace(place), protocol: 'TCP' as const, isInHostNetns, now }
              const expected = choicesOf(maps, client).map((choice) => shown(choice, hooks.refuse))
              using socket = ClientSocket.tcp(namespace, of)
              const happened = await outcome(socket, place)
              seen.add(happened.startsWith('[') || happened.startsWith('1') ? 'endpoint' : happened)
              expect(expected, `${place} from ${isInHostNetns ? 'the host' : 'a pod'}`).toContain(happened)
            }
      }),
      { numRuns: 40 },
    )
    expect(seen).toEqual(new Set(['endpoint', 'pass', ...(hooks.refuse ? ['refuse'] : [])]))
  })
})

async function outcome(socket: ClientSocket, place: string): Promise<string> {
  const connected = socket.connect(place)
  if (connected === 'ECONNREFUSED') return 'refuse'
  expect(connected).toBe('ok')
  const { answeredBy } = await socket.read()
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
