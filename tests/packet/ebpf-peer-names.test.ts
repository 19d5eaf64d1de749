/** Whom a program of the node believes to talk to, in the ebpf mode: whatever door of a Service it asks at, that one. */
import { expect, test } from 'vitest'
import { hostPort } from '../../src/net/ip.ts'
import { ClientSocket } from '../ebpf/testing/client-socket.ts'
import { fairleadEbpf, startEbpf } from './testing/fairlead-ebpf.ts'
import { packetTestProblem } from './testing/packet-test-problem.ts'
import { describeUnless } from './testing/proxies.ts'
import { addressOf, Rig } from './testing/rig.ts'
import { at } from './testing/row.ts'
import type { Door } from './testing/row.ts'
import { givenService, webPort } from './testing/service-fixture.ts'
import type { PortFixture } from './testing/service-fixture.ts'
import { translatedSoFar } from './testing/socket-choices.ts'

const dnsPort: PortFixture = { name: 'dns', protocol: 'UDP', port: 53, target: 53 }
const endpoints = ['here-1', 'there-1'] as const
const open = givenService('open', 9, {
  type: 'LoadBalancer',
  hasExternalIP: true,
  ports: [webPort, dnsPort],
  endpoints,
})
const doors: readonly Door[] = [
  'cluster IP',
  'external IP',
  'VIP',
  'node port',
  "node port on the node's second address",
]
const askers: readonly (readonly ['caller' | 'node', Door])[] = [
  ...doors.flatMap((door) => [['caller', door] as const, ['node', door] as const]),
  ['node', 'node port on localhost'],
]
const ways = [
  { what: 'IPv4', socket: 'ipv4', address: 'ipv4' },
  { what: 'IPv6', socket: 'ipv6', address: 'ipv6' },
  { what: 'IPv4-mapped', socket: 'ipv6', address: 'ipv4' },
] as const

interface Seen {
  /** Undefined where a socket has none. */
  readonly peer?: string
  readonly from?: string
  readonly answeredBy: string
}

/** What one socket does, and is shown. */
const calls = {
  async 'TCP connect'(socket: ClientSocket, place: string): Promise<Seen> {
    expectOk(socket.connect(place))
    const { peer } = socket
    return { peer, answeredBy: (await socket.read()).answeredBy }
  },
  async 'UDP connect'(socket: ClientSocket, place: string): Promise<Seen> {
    expectOk(socket.connect(place))
    expectOk(socket.send('who are you?'))
    const { from, answer } = await socket.receive()
    return { peer: socket.peer, from, answeredBy: answer.answeredBy }
  },
  async 'UDP sendto'(socket: ClientSocket, place: string): Promise<Seen> {
    expectOk(socket.send('who are you?', place))
    const { from, answer } = await socket.receive()
    return { from, answeredBy: answer.answeredBy }
  },
}
const callNames = ['TCP connect', 'UDP connect', 'UDP sendto'] as const

describeUnless(packetTestProblem(fairleadEbpf), 'in the ebpf mode, getpeername and recvfrom show', () => {
  test('the address and port that were asked for, at every door, for every kind of socket', async () => {
    await using rig = await Rig.startWith((cluster) => startEbpf(cluster, {}), [open])
    // Links may need a moment before they carry packets, and a datagram is sent once.
    for (const { address } of ways)
      for (const from of ['caller', 'node'] as const)
        expect(await rig.ask(from, at('cluster IP', open, dnsPort), address, 10_000)).toMatchObject({ kind: 'answer' })

    const before = await translatedSoFar(rig)
    const faults: unknown[] = []
    for (const [asker, door] of askers)
      for (const { what, socket: family, address } of ways)
        for (const call of callNames) {
          const isTcp = call === 'TCP connect'
          const target = at(door, open, isTcp ? webPort : dnsPort)
          const { ip, port } = addressOf(target, address)
          const place = hostPort(ip, port)
          const { namespace } = rig.whoIs(asker, target, address)
          using socket = isTcp ? ClientSocket.tcp(namespace, family) : ClientSocket.udp(namespace, family)
          const { answeredBy, ...seen } = await calls[call](socket, place)
          const isRight = Object.values(seen).every((name) => name === place)
          if (!isRight || !(endpoints as readonly string[]).includes(answeredBy))
            faults.push({ asker, door, what, call, place, answeredBy, ...seen })
        }
    expect(faults).toEqual([])
    // Nobody was left to the packets, which would show the same names.
    const after = await translatedSoFar(rig)
    const each = askers.length * callNames.length
    expect({ ipv4: after.ipv4 - before.ipv4, ipv6: after.ipv6 - before.ipv6 }).toEqual({ ipv4: 2 * each, ipv6: each })
  })
})

function expectOk(outcome: string): void {
  if (outcome !== 'ok') throw new Error(`a call of the test failed: ${outcome}`)
}
