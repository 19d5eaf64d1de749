/** Sockets of clients on the node whose endpoint ends, in the ebpf mode: they are told, and connect to another one. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { hostPort } from '../../src/net/ip.ts'
import { ClientSocket } from '../ebpf/testing/client-socket.ts'
import { podPorts } from './testing/cluster.ts'
import { fairleadEbpf, startEbpf } from './testing/fairlead-ebpf.ts'
import { fetchFrom } from './testing/fetch-from.ts'
import { limitedTo } from './testing/limited-to.ts'
import { NamedPods } from './testing/named-pods.ts'
import { NodeProcess } from './testing/node-process.ts'
import { packetTestProblem } from './testing/packet-test-problem.ts'
import { describeUnless } from './testing/proxies.ts'
import { addressOf, Rig } from './testing/rig.ts'
import { at } from './testing/row.ts'
import { givenService, ownZone, webPort } from './testing/service-fixture.ts'
import type { PortFixture, ServiceFixture } from './testing/service-fixture.ts'

const dnsPort: PortFixture = { name: 'dns', protocol: 'UDP', port: 53, target: podPorts.dnsUdp }
const echoPort: PortFixture = { name: 'echo', protocol: 'TCP', port: 7, target: podPorts.echo }
const ports = [dnsPort, echoPort, webPort]
const rolled = givenService('rolled', 7, { ports, endpoints: ['here-1'] })
const beside = givenService('beside', 8, { ports, endpoints: ['here-1'] })
const soon = { timeout: 40_000, interval: 50 }

/** Who asks, with a socket of which family, for which address of the Service. */
const ways = (['caller', 'node'] as const).flatMap((from) => [
  { from, socket: 'ipv4', address: 'ipv4' } as const,
  { from, socket: 'ipv6', address: 'ipv6' } as const,
  { from, socket: 'ipv6', address: 'ipv4' } as const,
])

describeUnless(packetTestProblem(fairleadEbpf), 'sockets whose endpoint ends, in the ebpf mode', () => {
  test('connected UDP is told and reaches another endpoint when it connects again; TCP drains', async () => {
    await using rig = await start()
    await using _pod = podProcess(rig)
    using held = new Held(rig)
    const waiting = held.udp(rolled)
    const idle = held.udp(rolled)
    const others = held.udp(beside)
    const connections = held.tcp(rolled)
    for (const client of [...waiting, ...idle, ...others]) expect(await client.whoAnswers()).toBe('here-1')
    await rig.program([
      { ...rolled, endpoints: [{ pod: 'here-1', is: 'serving while terminating' }, 'here-2'] },
      beside,
    ])
    for (const client of [...waiting, ...idle]) expect(await client.whoAnswers()).toBe('here-1')

    const told = Promise.all(waiting.map(({ socket }) => failureOf(socket.receive())))
    await rig.program([{ ...rolled, endpoints: ['here-2'] }, beside])
    for (const failure of await told) expect(failure).toContain('ECONNABORTED')
    await expect.poll(() => idle.map(({ peer }) => peer), soon).toEqual(idle.map(() => 'ENOTCONN'))
    for (const { socket } of idle) expect(socket.send('who are you?')).toBe('EDESTADDRREQ')
    for (const client of waiting) {
      expect(client.connect()).toBe('ok')
      expect(await client.whoAnswers()).toBe('here-2')
    }
    for (const client of others) expect(await client.whoAnswers()).toBe('here-1')
    await expect.poll(() => endedOf(rig, 'UDP'), soon).toBe(waiting.length + idle.length)
    expect(await endedOf(rig, 'TCP')).toBe(0)
    for (const { peer, place, socket } of connections) expect([peer, socket.send('hello')]).toEqual([place, 'ok'])
  })

  test('while nobody could serve them they stay, and are told as soon as somebody can', async () => {
    await using rig = await start()
    await using _pod = podProcess(rig)
    using held = new Held(rig)
    const clients = held.udp(rolled)
    await rig.program([{ ...rolled, endpoints: [] }, beside])
    // They are looked for at most once a second.
    await sleep(1500)
    expect(clients.map(({ peer }) => peer)).toEqual(clients.map(({ place }) => place))
    await rig.program([{ ...rolled, endpoints: ['there-1'] }, beside])
    await expect.poll(() => clients.map(({ peer }) => peer), soon).toEqual(clients.map(() => 'ENOTCONN'))
  })

  test('an endpoint that is left for one of the own zone goes on with the sockets that it has', async () => {
    // It has not ended, and neither has the work of its clients.
    await using rig = await start('--ebpf-destroy-tcp')
    await using _pod = podProcess(rig)
    using held = new Held(rig)
    const clients = held.udp(rolled)
    const connections = held.tcp(rolled)
    for (const client of clients) expect(await client.whoAnswers()).toBe('here-1')
    const elsewhere = { pod: 'here-1', forZones: ['zone-b'] } as const
    const here = { pod: 'here-2', forZones: [ownZone] } as const
    await rig.program([{ ...rolled, endpoints: [elsewhere, here] }, beside])
    for (const { from, address } of ways)
      expect(await rig.ask(from, at('cluster IP', rolled, dnsPort), address, 10_000)).toMatchObject({
        answer: { answeredBy: 'here-2' },
      })
    // They would be looked for at most once a second. That they are is seen by an endpoint that does end.
    const others = held.udp(beside)
    await rig.program([
      { ...rolled, endpoints: [elsewhere, here] },
      { ...beside, endpoints: ['there-1'] },
    ])
    await expect.poll(() => others.map(({ peer }) => peer), soon).toEqual(others.map(() => 'ENOTCONN'))
    for (const client of clients) expect(await client.whoAnswers()).toBe('here-1')
    for (const { peer, place, socket } of connections) expect([peer, socket.send('hello')]).toEqual([place, 'ok'])
    expect([await endedOf(rig, 'UDP'), await endedOf(rig, 'TCP')]).toEqual([others.length, 0])
  })

  test('with --ebpf-destroy-tcp connections are told, too, and the next one reaches another endpoint', async () => {
    await using rig = await start('--ebpf-destroy-tcp')
    await using _pod = podProcess(rig)
    using held = new Held(rig)
    const waiting = held.tcp(rolled)
    const others = held.tcp(beside)
    const told = Promise.all(waiting.map(({ socket }) => failureOf(socket.read())))
    await rig.program([{ ...rolled, endpoints: ['here-2'] }, beside])
    for (const failure of await told) expect(failure).toContain('ECONNABORTED')
    await expect.poll(() => endedOf(rig, 'TCP'), soon).toBe(waiting.length)
    for (const { peer, place, socket } of others) expect([peer, socket.send('hello')]).toEqual([place, 'ok'])
    for (const { from, address } of ways)
      expect(await rig.ask(from, at('cluster IP', rolled, webPort), address, 10_000)).toMatchObject({
        answer: { answeredBy: 'here-2' },
      })
  })

  const left = 'connected UDP of pods is left to nftables'

  test('in a container that knows pods by their names, those are told whose pods came after the start', async () => {
    using names = new NamedPods()
    await using rig = await startIn(asInTheChart(names))
    names.add('caller', rig.cluster.host('caller'))
    using held = new Held(rig)
    const clients = held.udp(rolled)
    await rig.program([{ ...rolled, endpoints: ['here-2'] }, beside])
    await expect.poll(() => clients.map(({ peer }) => peer), soon).toEqual(clients.map(() => 'ENOTCONN'))
    expect(rig.proxy.log()).not.toContain(left)
  })

  test('pods without a name turn out to be out of reach: their sockets are left to nftables from then on', async () => {
    using names = new NamedPods()
    await using rig = await startIn(asInTheChart(names))
    using held = new Held(rig)
    const clients = held.udp(rolled)
    const ofPod = clients.filter((_, index) => ways[index]?.from === 'caller')
    await rig.program([{ ...rolled, endpoints: ['here-2'] }, beside])
    await expect.poll(() => rig.proxy.log(), soon).toContain(`${left} from now on`)
    // The programs are told before anything else is written.
    await rig.program([{ ...rolled, endpoints: ['here-2'] }, beside])
    expect(clients.map(({ peer }) => peer)).toEqual(
      clients.map((client) => (ofPod.includes(client) ? client.place : 'ENOTCONN')),
    )
    for (const client of ofPod) {
      expect(client.connect()).toBe('ok')
      expect(await client.whoAnswers()).toBe('here-2')
    }
    // No socket has to be told any more.
    await rig.program([{ ...rolled, endpoints: ['here-1'] }, beside])
    for (const client of ofPod) await expect.poll(() => client.whoAnswers(), soon).toBe('here-1')
    expect(rig.proxy.log().split(left)).toHaveLength(2)
  })
})

/** The rights that the chart gives for `ebpf.connectedUdpOfPods: sockets`. */
function asInTheChart({ container }: NamedPods): readonly string[] {
  return [...container, ...limitedTo(['NET_ADMIN', 'BPF', 'PERFMON', 'SYS_ADMIN'])]
}

function start(...flags: readonly string[]): Promise<Rig> {
  return startIn([], ...flags)
}

async function startIn(starter: readonly string[], ...flags: readonly string[]): Promise<Rig> {
  const rig = await Rig.startWith((cluster) => startEbpf(cluster, {}, flags, starter), [rolled, beside])
  // Links may need a moment before they carry packets, and a socket that is held does not send twice.
  for (const { from, address } of ways)
    expect(await rig.ask(from, at('cluster IP', beside, dnsPort), address, 10_000)).toMatchObject({ kind: 'answer' })
  return rig
}

/** By which the proxy finds the network namespace of the pod. */
function podProcess(rig: Rig): NodeProcess {
  return new NodeProcess(rig.cluster.host('caller'), 'sleep', ['600'])
}

async function failureOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => 'none',
    (error: unknown) => String(error),
  )
}

async function endedOf(rig: Rig, protocol: 'TCP' | 'UDP'): Promise<number> {
  const metrics = await fetchFrom(rig.cluster.node, '127.0.0.1', 10_249, '/metrics', 10_000)
  const text = typeof metrics === 'object' ? metrics.body : ''
  return Number(
    new RegExp(`^fairlead_sockets_destroyed_total{protocol="${protocol}"} (\\d+)`, 'm').exec(text)?.[1] ?? 0,
  )
}

/** Clients that keep their sockets, one for each way. */
class Held implements Disposable {
  readonly #rig: Rig
  readonly #clients: Client[] = []

  constructor(rig: Rig) {
    this.#rig = rig
  }

  udp(service: ServiceFixture): readonly Client[] {
    return this.#open(service, dnsPort, 'datagrams')
  }

  tcp(service: ServiceFixture): readonly Client[] {
    return this.#open(service, echoPort, 'stream')
  }

  [Symbol.dispose](): void {
    for (const { socket } of this.#clients) socket[Symbol.dispose]()
  }

  #open(service: ServiceFixture, port: PortFixture, type: 'datagrams' | 'stream'): readonly Client[] {
    return ways.map(({ from, socket: family, address }) => {
      const target = at('cluster IP', service, port)
      const { namespace } = this.#rig.whoIs(from, target, address)
      const to = addressOf(target, address)
      const client = new Client(new ClientSocket(namespace, { family, type }), hostPort(to.ip, to.port))
      this.#clients.push(client)
      const outcome = client.connect()
      if (outcome !== 'ok') throw new Error(`a client of the test cannot connect to ${client.place}: ${outcome}`)
      return client
    })
  }
}

class Client {
  readonly socket: ClientSocket
  readonly place: string

  constructor(socket: ClientSocket, place: string) {
    this.socket = socket
    this.place = place
  }

  connect(): string {
    return this.socket.connect(this.place)
  }

  get peer(): string {
    return this.socket.peer
  }

  async whoAnswers(): Promise<string> {
    const outcome = this.socket.send('who are you?')
    return outcome === 'ok' ? (await this.socket.receive()).answer.answeredBy : outcome
  }
}
