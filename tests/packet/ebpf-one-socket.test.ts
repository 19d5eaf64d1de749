/** One UDP socket that talks to many Services in the ebpf mode: what hooks cannot tell apart is left to the real table. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { families, hostPort } from '../../src/net/ip.ts'
import type { Family } from '../../src/net/ip.ts'
import { ClientSocket } from '../ebpf/testing/client-socket.ts'
import { plans } from './testing/address-plan.ts'
import type { PodName } from './testing/address-plan.ts'
import { podPorts } from './testing/cluster.ts'
import { fairleadEbpf } from './testing/fairlead-ebpf.ts'
import { fetchFrom } from './testing/fetch-from.ts'
import { packetTestProblem } from './testing/packet-test-problem.ts'
import { describeUnless } from './testing/proxies.ts'
import { addressOf, Rig } from './testing/rig.ts'
import { at } from './testing/row.ts'
import { givenService, webPort } from './testing/service-fixture.ts'
import type { PortFixture, ServiceFixture } from './testing/service-fixture.ts'

const dnsPort: PortFixture = { name: 'dns', protocol: 'UDP', port: 53, target: podPorts.dnsUdp }
/** The first two have one endpoint, whose answers cannot be told apart at the socket; and a socket has room for four. */
const endpoints = ['here-1', 'here-1', 'here-2', 'there-1', 'here-3', 'there-2'] as const satisfies readonly PodName[]
const services = endpoints.map((_, index) =>
  givenService(`dns-${index + 1}`, index + 1, {
    ports: [dnsPort, webPort],
    endpoints: endpoints.slice(index, index + 1),
  }),
)
const rounds = 3
/** A socket has four flows at hooks, and two that pass. */
const leftOfSocket = 2

/** Who asks, with a socket of which family, for which address of the Services. */
const ways = (['caller', 'node'] as const).flatMap((from) => [
  { from, socket: 'ipv4', address: 'ipv4' } as const,
  { from, socket: 'ipv6', address: 'ipv6' } as const,
  { from, socket: 'ipv6', address: 'ipv4' } as const,
])

describeUnless(packetTestProblem(fairleadEbpf), 'one UDP socket and many Services, in the ebpf mode', () => {
  let rig: Rig
  /** Of each Service: the clients that have asked it. */
  const clients = { ipv4: 0, ipv6: 0 }
  beforeAll(async () => {
    rig = await Rig.start(fairleadEbpf, {}, services)
    for (const family of families) for (const from of ['caller', 'here-4', 'node'] as const) await metBy(from, family)
  })
  afterAll(() => rig?.[Symbol.asyncDispose]())

  test.each(ways)('answers come from the address that was asked, from $from by $socket to $address', async (way) => {
    const { from, socket: family, address } = way
    // Whichever of the two with one endpoint comes first, and whoever comes too late.
    for (const order of [services, services.toReversed(), [services[1]!, services[0]!, ...services.slice(2)]]) {
      const choices = await choicesOf(address)
      using socket = ClientSocket.udp(whoAsks(from), family)
      for (let round = 0; round < rounds; round++)
        for (const service of order)
          expect(await answerTo(socket, service, address)).toEqual(answerOf(service, address))
      const now = await choicesOf(address)
      expect(now.passed - choices.passed).toBe(leftOfSocket * rounds)
      expect(now.translated - choices.translated).toBe(services.length - leftOfSocket)
      clients[address]++
    }
    // Each Service has carried one flow for each socket, whoever translated it.
    const each = services.map(({ name }) => `${name}: ${clients[address]}`)
    await expect.poll(() => connectionsOf(address), soon).toEqual(each)
  })

  test('a socket without memory is served by the table alone, by UDP and TCP', async (context) => {
    const poor = rig.cluster.host('here-4')
    try {
      poor.setSysctl('core.optmem_max', 0)
    } catch {
      context.skip('this kernel has one limit of optmem_max for the whole machine')
    }
    for (const family of families) {
      const before = await choicesOf(family)
      using datagrams = ClientSocket.udp(poor, family)
      for (let round = 0; round < rounds; round++)
        for (const service of services)
          expect(await answerTo(datagrams, service, family)).toEqual(answerOf(service, family))
      using connected = ClientSocket.udp(poor, family)
      using stream = ClientSocket.tcp(poor, family)
      const service = services[0]!
      for (const [socket, port] of [
        [connected, dnsPort],
        [stream, webPort],
      ] as const) {
        const place = placeOf(service, family, port)
        expect([socket.connect(place), socket.peer]).toEqual(['ok', place])
      }
      expect(connected.send('who are you?')).toBe('ok')
      expect(await told(connected)).toEqual(answerOf(service, family))
      expect((await stream.read()).answeredBy).toBe(endpoints[0])
      const after = await choicesOf(family)
      expect(after.translated).toBe(before.translated)
      expect(after.passed - before.passed).toBe(rounds * services.length + 2)
    }
  })

  test('a socket that asks an endpoint itself, too, is answered by each as it asked', async () => {
    const service = services[0]!
    for (const family of families) {
      const before = await choicesOf(family)
      using socket = ClientSocket.udp(whoAsks('caller'), family)
      const endpoint = hostPort(plans[family].hosts[endpoints[0]], dnsPort.target)
      for (let round = 0; round < rounds; round++) {
        expect(await answerTo(socket, service, family)).toEqual(answerOf(service, family))
        expect(socket.send('who are you?', endpoint)).toBe('ok')
        expect(await told(socket)).toEqual({ from: endpoint, answeredBy: endpoints[0] })
      }
      const { translated, passed } = await choicesOf(family)
      expect([translated - before.translated, passed - before.passed]).toEqual([1, rounds - 1])
    }
  })

  /** Links may need a moment before they carry packets, and a datagram that is lost is not sent again. */
  async function metBy(from: 'caller' | 'here-4' | 'node', family: Family): Promise<void> {
    for (const service of services) {
      const { kind } = await rig.ask(from, at('cluster IP', service, dnsPort), family, 10_000)
      if (kind !== 'answer') throw new Error(`${service.name} does not answer ${from}: ${kind}`)
    }
    clients[family]++
  }

  function whoAsks(from: 'caller' | 'node') {
    return from === 'node' ? rig.cluster.node : rig.cluster.host(from)
  }

  async function answerTo(socket: ClientSocket, service: ServiceFixture, family: Family) {
    expect(socket.send('who are you?', placeOf(service, family, dnsPort))).toBe('ok')
    return told(socket)
  }

  async function choicesOf(family: Family) {
    const text = await metrics()
    const of = (result: string) => {
      const name = `fairlead_socket_choices_total{result="${result}",ip_family="${familyNames[family]}"}`
      return Number(
        text
          .split('\n')
          .find((line) => line.startsWith(name))
          ?.split(' ')
          .at(-1),
      )
    }
    return { translated: of('translated'), passed: of('passed') }
  }

  /** Of the UDP port of each Service. */
  async function connectionsOf(family: Family): Promise<readonly string[]> {
    const text = await metrics()
    const counter =
      /^fairlead_service_connections_total\{.*service="([^"]+)",port="dns",protocol="UDP",ip_family="(\w+)".* (\d+)$/gm
    return [...text.matchAll(counter)]
      .flatMap(([, name = '', label, count]) => (label === familyNames[family] ? [`${name}: ${count}`] : []))
      .sort()
  }

  async function metrics(): Promise<string> {
    const answer = await fetchFrom(rig.cluster.node, '127.0.0.1', 10_249, '/metrics', 10_000)
    return typeof answer === 'object' ? answer.body : ''
  }
})

const familyNames = { ipv4: 'IPv4', ipv6: 'IPv6' } as const
const soon = { timeout: 20_000, interval: 100 }

interface Told {
  readonly from: string
  readonly answeredBy: string
}

async function told(socket: ClientSocket): Promise<Told> {
  const { from, answer } = await socket.receive()
  return { from, answeredBy: answer.answeredBy }
}

function answerOf(service: ServiceFixture, family: Family): Told {
  return { from: placeOf(service, family, dnsPort), answeredBy: endpoints[services.indexOf(service)] ?? 'nobody' }
}

function placeOf(service: ServiceFixture, family: Family, port: PortFixture): string {
  const { ip, port: number } = addressOf(at('cluster IP', service, port), family)
  return hostPort(ip, number)
}
