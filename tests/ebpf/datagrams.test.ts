/** UDP, connected and not, as a program in a pod or on the node meets it. */
import { beforeEach, describe, expect, test } from 'vitest'
import { configFlags, layoutVersion } from '../../src/backends/ebpf/layout.ts'
import { ClientSocket } from './testing/client-socket.ts'
import type { Datagram } from './testing/client-socket.ts'
import { podAddresses, serverPlaces } from './testing/lab.ts'
import { describeSockets } from './testing/socket-lab.ts'

const four = serverPlaces.ipv4
const [first, second, third, fourth] = four

await describeSockets('datagrams', ({ hooks, nodes }) => {
  const { host, pod } = nodes

  const exchange = (socket: ClientSocket, place: string): Promise<Datagram> => {
    expect(socket.send('hello', place)).toBe('ok')
    return socket.receive()
  }
  const answerer = async (socket: ClientSocket, place: string): Promise<string> => {
    const { from, answer } = await exchange(socket, place)
    expect(from).toBe(place)
    return answer.answeredBy
  }

  describe.each([
    { what: 'IPv4', family: 'ipv4', service: '10.96.0.1:53', endpoints: four, source: podAddresses.ipv4 },
    { what: 'IPv6', family: 'ipv6', service: '[fd96::1]:53', endpoints: serverPlaces.ipv6, source: podAddresses.ipv6 },
    { what: 'IPv4-mapped', family: 'ipv6', service: '10.96.0.1:53', endpoints: four, source: podAddresses.ipv4 },
  ] as const)('of $what', ({ family, service, endpoints, source }) => {
    test('of one socket reach one endpoint, whose answers come from the Service', async () => {
      const served = await hooks.serve({ at: [`udp ${service}`], internal: endpoints, roundRobin: true })
      for (const endpoint of endpoints) {
        using socket = ClientSocket.udp(pod, family)
        for (let i = 0; i < 3; i++) {
          const { from, answer } = await exchange(socket, service)
          expect(from).toBe(service)
          expect(answer.sawSource).toBe(source)
          expect(endpoint).toContain(answer.answeredBy)
        }
      }
      expect(served.stats).toMatchObject({ connections: 4, passed: 0 })
    })

    test('of a connected socket have the Service as their peer', async () => {
      const [endpoint] = endpoints
      const served = await hooks.serve({ at: [`udp ${service}`], internal: [endpoint] })
      using socket = ClientSocket.udp(pod, family)
      expect(socket.connect(service)).toBe('ok')
      expect(socket.peer).toBe(service)
      expect(socket.send('hello')).toBe('ok')
      const { from, answer } = await socket.receive()
      expect(from).toBe(service)
      expect(endpoint).toContain(answer.answeredBy)
      expect(served.udpConnects(endpoint)).toBe(1)
      expect(socket.disconnect()).toBe('ok')
      expect(socket.peer).toBe('ENOTCONN')
      expect((await exchange(socket, endpoint)).from).toBe(endpoint)
    })

    test('of a connected socket that names the Service go where it is connected to', async () => {
      await hooks.serve({ at: [`udp ${service}`], internal: endpoints, roundRobin: true })
      using socket = ClientSocket.udp(pod, family)
      expect(socket.connect(service)).toBe('ok')
      // Answers of other endpoints would not reach it.
      for (let i = 0; i < 5; i++) expect(endpoints[0]).toContain(await answerer(socket, service))
    })

    test('of a socket that packets have connected to the Service stay with the packets', async () => {
      const served = await hooks.serve({ at: [`udp ${service}`], internal: endpoints })
      await hooks.configure({ without: configFlags.udpConnect })
      using socket = ClientSocket.udp(pod, family)
      expect(socket.connect(service)).toBe('ok')
      for (const named of [service, undefined]) {
        expect(socket.send('hello', named)).toBe('ok')
        expect(await socket.receive()).toMatchObject({ from: service, answer: { answeredBy: 'packets' } })
      }
      expect(served.stats.connections).toBe(0)
    })
  })

  test('move to another endpoint with the next send after theirs has ended', async () => {
    const served = await hooks.serve({ at: ['udp 10.96.0.1:53'], internal: [first, second], roundRobin: true })
    using socket = ClientSocket.udp(pod)
    expect(await answerer(socket, '10.96.0.1:53')).toBe('10.77.1.11')
    await served.closeForNew(first)
    expect(await answerer(socket, '10.96.0.1:53')).toBe('10.77.1.11')
    await served.end(first)
    expect(await answerer(socket, '10.96.0.1:53')).toBe('10.77.1.12')
  })

  test('move to another endpoint after a time of silence', async () => {
    await hooks.serve({ at: ['udp 10.96.0.1:53'], internal: [first, second], roundRobin: true })
    using socket = ClientSocket.udp(pod)
    for (let i = 0; i < 3; i++) expect(await answerer(socket, '10.96.0.1:53')).toBe('10.77.1.11')
    await hooks.configure({ udpIdle: 0n })
    expect(await answerer(socket, '10.96.0.1:53')).toBe('10.77.1.12')
  })

  test('move when the address becomes that of another Service', async () => {
    await hooks.serve({ at: ['udp 10.96.0.1:53'], internal: [first] })
    using socket = ClientSocket.udp(pod)
    expect(await answerer(socket, '10.96.0.1:53')).toBe('10.77.1.11')
    await hooks.serve({ at: ['udp 10.96.0.1:53'], internal: [second] })
    expect(await answerer(socket, '10.96.0.1:53')).toBe('10.77.1.12')
  })

  test('of one socket can go to four Services; the fifth is left to the packet path', async () => {
    const places = [1, 2, 3, 4, 5].map((number) => `10.96.0.${number}:53`)
    const endpoints = [...four, `${podAddresses.ipv4}:8080`]
    for (const [index, place] of places.entries())
      await hooks.serve({ at: [`udp ${place}`], internal: [endpoints[index] ?? ''] })
    using socket = ClientSocket.udp(pod)
    const ips = ['10.77.1.11', '10.77.1.12', '10.77.1.13', '10.77.1.14', 'packets']
    for (let round = 0; round < 2; round++)
      for (const [index, place] of places.entries()) expect(await answerer(socket, place)).toBe(ips[index])
    // Silent flows make room.
    await hooks.configure({ udpIdle: 0n })
    expect(await answerer(socket, '10.96.0.5:53')).toBe(podAddresses.ipv4)
  })

  test('to two Services with one endpoint could not be told apart: the second is left to the packet path', async () => {
    const [one, other] = ['10.96.0.1:53', '10.96.0.2:53']
    await hooks.serve({ at: [`udp ${one}`], internal: [first] })
    const served = await hooks.serve({ at: [`udp ${other}`], internal: [first] })
    using socket = ClientSocket.udp(pod)
    expect(await answerer(socket, one)).toBe('10.77.1.11')
    expect(await answerer(socket, other)).toBe('packets')
    expect(served.stats).toMatchObject({ connections: 0, passed: 1 })
    expect(await answerer(socket, one)).toBe('10.77.1.11')
    // Once the first is silent, the answers are the second's.
    await hooks.configure({ udpIdle: 0n })
    expect(await answerer(socket, other)).toBe('10.77.1.11')
  })

  describe.each([
    { what: 'IPv4', family: 'ipv4', service: '10.96.0.1:53', endpoint: first },
    { what: 'IPv6', family: 'ipv6', service: '[fd96::1]:53', endpoint: serverPlaces.ipv6[0] },
    { what: 'IPv4-mapped', family: 'ipv6', service: '10.96.0.1:53', endpoint: first },
  ] as const)('of $what to an endpoint itself, beside its Service', ({ family, service, endpoint }) => {
    test('are answered by the endpoint; those to the Service are left to the packet path', async () => {
      const served = await hooks.serve({ at: [`udp ${service}`], internal: [endpoint] })
      using socket = ClientSocket.udp(pod, family)
      // Answers come from where they were asked for, or the exchange fails.
      await answerer(socket, endpoint)
      expect(endpoint).toContain(await answerer(socket, service))
      expect(endpoint).toContain(await answerer(socket, endpoint))
      for (let i = 0; i < 2; i++) expect(await answerer(socket, service)).toBe('packets')
      expect(await answerer(socket, endpoint)).not.toBe('packets')
      expect(served.stats).toMatchObject({ connections: 1, passed: 2 })
      // Once it has not been asked for a while, the answers are the Service's.
      await hooks.configure({ udpIdle: 0n })
      expect(endpoint).toContain(await answerer(socket, service))
    })
  })

  test('of a socket that was connected meanwhile, with an IPv4-mapped address, go on to the endpoint', async () => {
    const served = await hooks.serve({ at: ['udp 10.96.0.1:53'], internal: [first] })
    using socket = ClientSocket.udp(pod, 'ipv6')
    expect(await answerer(socket, '10.96.0.1:53')).toBe('10.77.1.11')
    expect([socket.connect('10.96.0.1:53'), socket.send('hello')]).toEqual(['ok', 'ok'])
    expect(await socket.receive()).toMatchObject({ from: '10.96.0.1:53', answer: { answeredBy: '10.77.1.11' } })
    expect(socket.disconnect()).toBe('ok')
    expect(await answerer(socket, '10.96.0.1:53')).toBe('10.77.1.11')
    expect(served.stats.passed).toBe(0)
  })

  test('are answered by the Service that was asked last, if the endpoint served another one before', async () => {
    const [others, before, now] = ['10.96.0.1:53', '10.96.0.2:53', '10.96.0.3:53']
    await hooks.serve({ at: [`udp ${others}`], internal: [second] })
    for (const place of [before, now]) await hooks.serve({ at: [`udp ${place}`], internal: [first] })
    using socket = ClientSocket.udp(pod)
    for (const place of [others, before]) await answerer(socket, place)
    await hooks.configure({ udpIdle: 0n })
    expect(await answerer(socket, now)).toBe('10.77.1.11')
  })

  test('of a socket that is connected to the endpoint for another Service are left to the packet path', async () => {
    await hooks.serve({ at: ['udp 10.96.0.1:53'], internal: [first] })
    const served = await hooks.serve({ at: ['udp 10.96.0.2:53'], internal: [first] })
    using socket = ClientSocket.udp(pod)
    expect(socket.connect('10.96.0.1:53')).toBe('ok')
    // Answers of others do not reach a connected socket, so only the counter tells.
    expect(socket.send('hello', '10.96.0.2:53')).toBe('ok')
    expect(served.stats).toMatchObject({ connections: 0, passed: 1 })
    expect(socket.disconnect()).toBe('ok')
    expect(await answerer(socket, '10.96.0.2:53')).toBe('10.77.1.11')
  })

  test('to nobody are not refused: sending and connecting go to the packet path', async () => {
    await hooks.serve({ at: ['udp 10.96.0.1:53'], internal: 'refuse' })
    using sending = ClientSocket.udp(pod)
    expect(await answerer(sending, '10.96.0.1:53')).toBe('packets')
    using connected = ClientSocket.udp(pod)
    expect(connected.connect('10.96.0.1:53')).toBe('ok')
    expect(connected.send('hello')).toBe('ok')
    expect(await connected.receive()).toMatchObject({ from: '10.96.0.1:53', answer: { answeredBy: 'packets' } })
  })

  test('of a pod reach the pod itself through its Service', async () => {
    await hooks.serve({ at: ['udp 10.96.0.1:53'], internal: [`${podAddresses.ipv4}:8080`] })
    using socket = ClientSocket.udp(pod)
    expect(await answerer(socket, '10.96.0.1:53')).toBe(podAddresses.ipv4)
  })

  test('that the kernel cuts out of one big buffer all reach one endpoint', async () => {
    const served = await hooks.serve({ at: ['udp 10.96.0.1:53'], internal: four })
    using socket = ClientSocket.udp(pod)
    const [udpLevel, segment] = [17, 103]
    expect(socket.set(udpLevel, segment, 100)).toBe('ok')
    expect(socket.send('x'.repeat(300), '10.96.0.1:53')).toBe('ok')
    const answers = [await socket.receive(), await socket.receive(), await socket.receive()]
    expect(new Set(answers.map(({ answer }) => answer.answeredBy)).size).toBe(1)
    expect(new Set(answers.map(({ from }) => from))).toEqual(new Set(['10.96.0.1:53']))
    expect(served.stats.connections).toBe(1)
  })

  test('with affinity, the sockets of the host share an endpoint on loopback', async () => {
    const affinity = { roundRobin: true, affinitySeconds: 100 }
    await hooks.serve({ externalAt: ['udp 30053'], external: four, ...affinity })
    await hooks.serve({ at: ['udp 10.96.0.1:53'], internal: four, ...affinity })
    for (let i = 0; i < 3; i++) {
      using socket = ClientSocket.udp(host)
      expect(await answerer(socket, '127.0.0.1:30053')).toBe('10.77.1.11')
    }
    using other = ClientSocket.udp(host)
    expect(await answerer(other, '10.96.0.1:53')).toBe('packets')
  })

  describe('are left to the packet path', () => {
    const asked = async (namespace: typeof pod, how: 'send' | 'connect'): Promise<string> => {
      using socket = ClientSocket.udp(namespace)
      if (how === 'connect') expect(socket.connect('10.96.0.1:53')).toBe('ok')
      expect(socket.send('hello', how === 'send' ? '10.96.0.1:53' : undefined)).toBe('ok')
      return (await socket.receive()).answer.answeredBy
    }

    test.each([
      ['sending', { without: configFlags.udpSend }, ['packets', '10.77.1.11', 'packets', '10.77.1.11']],
      ['connecting', { without: configFlags.udpConnect }, ['10.77.1.11', 'packets', '10.77.1.11', 'packets']],
      [
        'connecting in pods',
        { with: configFlags.udpConnectHostOnly },
        ['10.77.1.11', 'packets', '10.77.1.11', '10.77.1.11'],
      ],
    ] as const)('when %s is switched off', async (_what, config, expected) => {
      await hooks.serve({ at: ['udp 10.96.0.1:53'], internal: [first] })
      await hooks.configure(config)
      const answers = [
        await asked(pod, 'send'),
        await asked(pod, 'connect'),
        await asked(host, 'send'),
        await asked(host, 'connect'),
      ]
      expect(answers).toEqual(expected)
    })

    test('when the socket is bound to loopback', async () => {
      const served = await hooks.serve({ at: ['udp 10.96.0.1:53'], internal: [first] })
      using socket = ClientSocket.udp(host)
      expect(socket.bind('127.0.0.1:0')).toBe('ok')
      expect(await answerer(socket, '10.96.0.1:53')).toBe('packets')
      expect(served.stats.connections).toBe(0)
    })
  })

  describe('sockets whose endpoint has ended', () => {
    beforeEach((context) => {
      if (!hooks.findStale) context.skip('this kernel does not list the memory of sockets')
    })

    /** The kernel lets go of closed sockets a moment later: those of earlier tests do not count. */
    const staleAmong = async (...sockets: readonly ClientSocket[]) => {
      const cookies = new Set(sockets.map(({ cookie }) => cookie))
      return (await hooks.stale()).filter(({ cookie }) => cookies.has(cookie))
    }

    test('are found in every namespace, in both families, and no others', async () => {
      const [six] = serverPlaces.ipv6
      const v4 = await hooks.serve({ at: ['udp 10.96.0.1:53'], internal: [first, second], roundRobin: true })
      const v6 = await hooks.serve({ at: ['udp [fd96::1]:53'], internal: [six] })
      using plain = ClientSocket.udp(pod)
      using lucky = ClientSocket.udp(pod)
      using mapped = ClientSocket.udp(host, 'ipv6')
      using native = ClientSocket.udp(pod, 'ipv6')
      using direct = ClientSocket.udp(pod)
      using sender = ClientSocket.udp(pod)
      for (const socket of [plain, lucky, mapped]) expect(socket.connect('10.96.0.1:53')).toBe('ok')
      expect(native.connect('[fd96::1]:53')).toBe('ok')
      expect(direct.connect(first)).toBe('ok')
      const all = [plain, lucky, mapped, native, direct, sender]
      expect(await answerer(sender, '10.96.0.1:53')).toBe('10.77.1.12')
      expect(await staleAmong(...all)).toEqual([])

      await v4.end(first)
      await v6.end(six)
      const byCookie = (a: { cookie: bigint }, b: { cookie: bigint }) => (a.cookie < b.cookie ? -1 : 1)
      const report = (socket: ClientSocket, ip: string, { index }: typeof v4, service: string) => ({
        cookie: socket.cookie,
        netns: socket.netns,
        ip,
        port: 8080,
        asked: { ip: service, port: 53 },
        target: { service: index, list: 'internal' },
        protocol: 'UDP',
        layout: layoutVersion,
      })
      expect([...(await staleAmong(...all))].sort(byCookie)).toEqual(
        [
          report(plain, '10.77.1.11', v4, '10.96.0.1'),
          report(mapped, '10.77.1.11', v4, '10.96.0.1'),
          report(native, 'fd77:1::11', v6, 'fd96::1'),
        ].sort(byCookie),
      )
    })

    test('are those of TCP, too, if the daemon wants to know', async () => {
      const served = await hooks.serve({
        at: ['tcp 10.96.0.1:80'],
        externalAt: ['tcp 10.96.0.2:80'],
        external: [third],
      })
      using socket = ClientSocket.tcp(pod)
      expect(socket.connect('10.96.0.2:80')).toBe('ok')
      await served.end(third)
      expect(await staleAmong(socket)).toEqual([])
      await hooks.configure({ with: configFlags.reportStaleTcp })
      expect(await staleAmong(socket)).toMatchObject([
        { cookie: socket.cookie, protocol: 'TCP', target: { service: served.index, list: 'external' } },
      ])
    })

    test('are forgotten once they connect elsewhere', async () => {
      const served = await hooks.serve({ at: ['udp 10.96.0.1:53'], internal: [fourth] })
      using socket = ClientSocket.udp(pod)
      expect(socket.connect('10.96.0.1:53')).toBe('ok')
      await served.end(fourth)
      expect(await staleAmong(socket)).toHaveLength(1)
      expect(socket.connect(first)).toBe('ok')
      expect(await staleAmong(socket)).toEqual([])
    })
  })
})
