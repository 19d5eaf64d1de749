/** Limits of open connections and of dials, with real ones. */
import { once } from 'node:events'
import { createSocket } from 'node:dgram'
import type { Socket as UdpSocket } from 'node:dgram'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { noLookup } from '../../src/dataplane/relay/node/udp-flow.ts'
import { families } from '../../src/net/ip.ts'
import type { Family } from '../../src/net/ip.ts'
import type { TrafficRow, TrafficTable } from '../../src/observe/traffic/traffic-rows.ts'
import { openTcp } from './testing/ask.ts'
import { podPorts } from './testing/cluster.ts'
import { Conversation } from './testing/conversation.ts'
import { fairleadEbpf } from './testing/fairlead-ebpf.ts'
import { fairleadNftables } from './testing/fairlead.ts'
import { fetchFrom } from './testing/fetch-from.ts'
import { describeEach } from './testing/proxies.ts'
import { addressOf, Rig } from './testing/rig.ts'
import { at } from './testing/row.ts'
import type { Source, Target } from './testing/row.ts'
import { givenService } from './testing/service-fixture.ts'
import type { PortFixture, ServiceFixture } from './testing/service-fixture.ts'

const echoPort: PortFixture = { name: 'echo', protocol: 'TCP', port: 7, target: podPorts.echo }
const udpPort: PortFixture = { name: 'dns', protocol: 'UDP', port: 53, target: podPorts.dnsUdp }
const endpoints = ['here-1', 'here-2', 'there-1'] as const
const most = 3

const shared: Parameters<typeof givenService>[2] = {
  type: 'NodePort',
  ports: [echoPort],
  endpoints,
  annotations: { 'fairlead.dev/max-connections': String(most) },
}
const web = givenService('web', 1, shared)
const sticky = givenService('sticky', 2, { ...shared, affinitySeconds: 600 })
const local = givenService('local', 3, { ...shared, externalTrafficPolicy: 'Local' })
const free = givenService('free', 4, { type: 'NodePort', ports: [echoPort], endpoints })
const dials = givenService('dials', 5, {
  type: 'NodePort',
  endpoints,
  annotations: { 'fairlead.dev/max-dials-per-second': '4' },
})
const dns = givenService('dns', 6, {
  ports: [udpPort],
  endpoints,
  annotations: { 'fairlead.dev/max-connections': '2' },
})
const services = [web, sticky, local, free, dials, dns]

const refused = 'ECONNREFUSED'
const soon = { timeout: 20_000, interval: 50 }

describeEach([fairleadNftables, fairleadEbpf], (proxy) => {
  let rig: Rig
  beforeAll(async () => {
    rig = await Rig.start(proxy, {}, services)
  })
  afterAll(() => rig?.[Symbol.asyncDispose]())

  async function hold(from: Source, target: Target, family: Family): Promise<Conversation> {
    const { namespace, ip: source } = rig.whoIs(from, target, family)
    const conversation = await Conversation.start(openTcp(namespace, { ...addressOf(target, family), source }))
    await conversation.goesOn()
    return conversation
  }

  /** `open`, or how it failed. A reset is ECONNREFUSED, and nothing else is. */
  async function attempt(from: Source, target: Target, family: Family): Promise<string | undefined> {
    try {
      using _ = await hold(from, target, family)
      return 'open'
    } catch (error) {
      return (error as NodeJS.ErrnoException).code
    }
  }

  const doors = (service: ServiceFixture): readonly (readonly [Source, Target])[] => [
    ['caller', at('cluster IP', service, echoPort)],
    ['outside', at('node port', service, echoPort)],
    ['node', at('cluster IP', service, echoPort)],
    ['here-1', at('node port', service, echoPort)],
  ]

  for (const service of [web, sticky, local])
    for (const family of families)
      test(`${service.name} has as many open connections as it may, by all doors together, ${family}`, async () => {
        const held: Conversation[] = []
        try {
          for (const [from, target] of doors(service).slice(0, most)) held.push(await hold(from, target, family))
          for (const [from, target] of doors(service)) expect(await attempt(from, target, family)).toBe(refused)
          for (const one of held) await one.goesOn()
          for (const [from, target] of doors(free)) expect(await attempt(from, target, family)).toBe('open')

          for (const [from, target] of doors(service)) {
            held.shift()?.[Symbol.dispose]()
            // The kernel sees the end of a connection a moment after its client does.
            await expect
              .poll(async () => {
                const next = await hold(from, target, family).catch(() => undefined)
                if (next !== undefined) held.push(next)
                return next !== undefined
              }, soon)
              .toBe(true)
            for (const [other, door] of doors(service)) expect(await attempt(other, door, family)).toBe(refused)
          }
        } finally {
          for (const one of held) one[Symbol.dispose]()
        }
      })

  test('changes of endpoints and repairs do not forget what is open', async () => {
    const target = at('cluster IP', web, echoPort)
    const held: Conversation[] = []
    try {
      for (let n = 0; n < most; n++) held.push(await hold('caller', target, 'ipv4'))
      await rig.program([{ ...web, endpoints: ['here-1', 'there-1'] }, ...services.slice(1)])
      expect(await attempt('caller', target, 'ipv4')).toBe(refused)
      rig.cluster.node.run('nft', ['flush', 'chain', 'ip', 'fairlead', 'limited/shop/web/tcp/echo'])
      // While nobody asks about limits, nothing is served: the chain is the way to the endpoints.
      await expect
        .poll(() => rig.cluster.node.run('nft', ['list', 'chain', 'ip', 'fairlead', 'limited/shop/web/tcp/echo']), {
          timeout: 60_000,
          interval: 200,
        })
        .toContain('ct count over 3')
      expect(await attempt('caller', target, 'ipv4')).toBe(refused)
      held.pop()?.[Symbol.dispose]()
      await expect.poll(() => attempt('caller', target, 'ipv4'), soon).toBe('open')
    } finally {
      for (const one of held) one[Symbol.dispose]()
      await rig.program(services)
    }
  })

  for (const family of families)
    test(`a second has as many dials as it may, by all doors together, ${family}`, async () => {
      const started = performance.now()
      const outcomes: string[] = []
      const ways = [
        ['caller', at('cluster IP', dials)],
        ['outside', at('node port', dials)],
      ] as const
      while (outcomes.length < 200 && performance.now() - started < 5_000)
        for (const [from, target] of ways) outcomes.push((await rig.ask(from, target, family, 10_000)).kind)
      const seconds = (performance.now() - started) / 1000
      const answered = outcomes.filter((kind) => kind === 'answer').length
      expect(new Set(outcomes)).toEqual(new Set(['answer', 'refused']))
      // Four at once, and four in each second after it.
      expect(answered).toBeLessThanOrEqual(4 + 4 * seconds)
      expect(answered).toBeGreaterThanOrEqual(4)
      await expect
        .poll(async () => (await rig.ask('caller', at('cluster IP', dials), family, 10_000)).kind, soon)
        .toBe('answer')
    })

  for (const family of families)
    test(`of UDP, clients are counted until the kernel forgets them, and others are told at once, ${family}`, async () => {
      const { ip, port } = addressOf(at('cluster IP', dns, udpPort), family)
      const sockets: UdpSocket[] = []
      const askFrom = async (socket: UdpSocket): Promise<string> => {
        const heard = once(socket, 'message', { signal: AbortSignal.timeout(10_000) })
        socket.send('who are you?')
        try {
          await heard
          return 'answer'
        } catch (error) {
          return (error as NodeJS.ErrnoException).code ?? 'error'
        }
      }
      const open = async (): Promise<UdpSocket> => {
        const socket = createSocket({ type: family === 'ipv6' ? 'udp6' : 'udp4', lookup: noLookup })
        sockets.push(socket)
        const address = family === 'ipv6' ? '::' : '0.0.0.0'
        rig.cluster.host('caller').enter(() => socket.bind({ port: 0, address, exclusive: true }))
        const connected = once(socket, 'connect')
        socket.connect(port, ip)
        await connected
        return socket
      }
      try {
        const [first, second] = [await open(), await open()]
        expect([await askFrom(first), await askFrom(second)]).toEqual(['answer', 'answer'])
        expect(await askFrom(await open())).toBe('ECONNREFUSED')
        expect([await askFrom(first), await askFrom(second)]).toEqual(['answer', 'answer'])
      } finally {
        for (const socket of sockets) socket.close()
      }
    })

  test('who was refused is in the metrics, by the reason, and not among the connections', async () => {
    // Rows of both families: what the tests above did, and nothing else.
    await expect
      .poll(async () => {
        const rows = await traffic(rig)
        return rows
          .filter(({ service }) => /\/(web|dials|free):/.test(service))
          .map(({ service, turnedAway = {} }) => {
            const reasons = Object.keys(turnedAway).filter((reason) => reason.startsWith('max-') && turnedAway[reason])
            return [/\/(.*):/.exec(service)?.[1], ...reasons].join(' ')
          })
          .toSorted((one, other) => one.localeCompare(other))
      }, soon)
      .toEqual([
        'dials max-dials-per-second',
        'dials max-dials-per-second',
        'free',
        'free',
        'web max-connections',
        'web max-connections',
      ])
    const metrics = await fetchFrom(rig.cluster.node, '127.0.0.1', 10_249, '/metrics')
    expect(typeof metrics === 'object' && metrics.body).toMatch(/service="web".*reason="max-connections"/)
  })
})

async function traffic(rig: Rig): Promise<readonly TrafficRow[]> {
  const answer = await fetchFrom(rig.cluster.node, '127.0.0.1', 10_249, '/debug/traffic')
  return typeof answer === 'object' && answer.status === 200 ? (JSON.parse(answer.body) as TrafficTable).services : []
}
