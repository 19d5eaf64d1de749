/** TCP, as a program in a pod or on the node meets it. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { configFlags, decodeAffinity, layout } from '../../src/backends/ebpf/layout.ts'
import { ClientSocket, parsePlace } from './testing/client-socket.ts'
import { nodeAddresses, podAddresses, serverPlaces } from './testing/lab.ts'
import { describeSockets } from './testing/socket-lab.ts'

const four = serverPlaces.ipv4
const [first, second] = four

await describeSockets('connections', ({ hooks, nodes }) => {
  const { host, pod, neighbour } = nodes

  /** Who answers, or what fails. */
  const ask = async (socket: ClientSocket, place: string): Promise<string> => {
    using open = socket
    const outcome = open.connect(place)
    return outcome === 'ok' ? (await open.read()).answeredBy : outcome
  }
  const askFrom = (namespace: typeof pod, place: string): Promise<string> =>
    ask(ClientSocket.tcp(namespace, place.startsWith('[') ? 'ipv6' : 'ipv4'), place)

  const ways = [
    { what: 'IPv4', family: 'ipv4', service: '10.96.0.1:80', endpoints: four, source: podAddresses.ipv4 },
    { what: 'IPv6', family: 'ipv6', service: '[fd96::1]:80', endpoints: serverPlaces.ipv6, source: podAddresses.ipv6 },
    { what: 'IPv4-mapped', family: 'ipv6', service: '10.96.0.1:80', endpoints: four, source: podAddresses.ipv4 },
  ] as const

  describe.each(ways)('of $what', ({ family, service, endpoints, source }) => {
    test('reach every endpoint about as often, under the name that they asked for, from their own address', async () => {
      const served = await hooks.serve({ at: [`tcp ${service}`], internal: endpoints })
      const count = 400
      for (let i = 0; i < count; i++) {
        using socket = ClientSocket.tcp(pod, family)
        expect(socket.connect(service)).toBe('ok')
        if (i >= 10) continue
        expect(socket.peer).toBe(service)
        const answer = await socket.read()
        expect(answer.sawSource).toBe(source)
        expect(endpoints.some((place) => place.includes(answer.answeredBy))).toBe(true)
      }
      const fiveSigma = 5 * Math.sqrt(count * (1 / 4) * (3 / 4))
      const picked = served.picked(...endpoints)
      expect(picked.reduce((sum, times) => sum + times, 0)).toBe(count)
      for (const times of picked) expect(Math.abs(times - count / 4)).toBeLessThan(fiveSigma)
      expect(served.stats).toMatchObject({ connections: count, passed: 0, retries: 0, refused: 0 })
    })
  })

  test('each list has its own endpoints', async () => {
    await hooks.serve({
      at: ['tcp 10.96.0.1:80'],
      internal: [first],
      externalAt: ['tcp 10.96.0.2:81'],
      external: [second],
    })
    expect(await askFrom(pod, '10.96.0.1:80')).toBe('10.77.1.11')
    expect(await askFrom(pod, '10.96.0.2:81')).toBe('10.77.1.12')
    expect(await askFrom(host, '10.96.0.2:81')).toBe('10.77.1.12')
  })

  test('an address or port of no Service is left alone, and so is an endpoint', async () => {
    await hooks.serve({ at: ['tcp 10.96.0.1:80'], internal: [first] })
    expect(await askFrom(pod, '10.96.0.1:81')).toBe('packets')
    expect(await askFrom(pod, '10.96.0.2:80')).toBe('packets')
    using direct = ClientSocket.tcp(pod)
    expect(direct.connect(first)).toBe('ok')
    expect(direct.peer).toBe(first)
  })

  test('an entry that belongs to another key is left alone', async () => {
    await hooks.serve({ at: ['tcp 10.96.0.1:80'], internal: [first] })
    const [entry] = await hooks.map('frontends').entries()
    if (entry === undefined) throw new Error('no entry')
    const wrong = Buffer.from(entry[1])
    wrong[layout.frontend.check] = (wrong[layout.frontend.check] ?? 0) ^ 1
    await hooks.map('frontends').update([[entry[0], wrong]])
    expect(await askFrom(pod, '10.96.0.1:80')).toBe('packets')
  })

  test('without endpoints they are refused at once, whether they wait or not', async (context) => {
    if (!hooks.refuse) context.skip('before Linux 5.18 the packet path does that')
    const served = await hooks.serve({ at: ['tcp 10.96.0.1:80', 'tcp [fd96::1]:80'], internal: 'refuse' })
    using waiting = ClientSocket.tcp(pod)
    expect(waiting.connect('10.96.0.1:80')).toBe('ECONNREFUSED')
    using eager = ClientSocket.tcp(pod, 'ipv6')
    eager.dontWait()
    expect(eager.connect('[fd96::1]:80')).toBe('ECONNREFUSED')
    expect(served.stats).toMatchObject({ connections: 0, refused: 2 })
  })

  test('what would be dropped is left to the packet path', async () => {
    const served = await hooks.serve({ at: ['tcp 10.96.0.1:80'], internal: 'pass' })
    expect(await askFrom(pod, '10.96.0.1:80')).toBe('packets')
    expect(served.stats).toMatchObject({ connections: 0, passed: 1 })
  })

  test('an endpoint that has ended, or that new clients may not have, is not chosen', async () => {
    const served = await hooks.serve({ at: ['tcp 10.96.0.1:80'], internal: [first, second], roundRobin: true })
    await served.closeForNew(first)
    for (let i = 0; i < 4; i++) expect(['10.77.1.12', 'packets']).toContain(await askFrom(pod, '10.96.0.1:80'))
    await served.end(second)
    expect(await askFrom(pod, '10.96.0.1:80')).toBe('packets')
    expect(served.picked(first)).toEqual([0])
    expect(served.stats.retries).toBeGreaterThan(0)
  })

  test('a record that belongs to another Service by now is not used, and the list is read again', async () => {
    const served = await hooks.serve({ at: ['tcp 10.96.0.1:80'], internal: [first] })
    await served.giveAway(first)
    expect(await askFrom(pod, '10.96.0.1:80')).toBe('packets')
    expect(served.stats).toMatchObject({ connections: 0, retries: 3, passed: 1 })
  })

  test('one after the other, round robin is exact', async () => {
    const served = await hooks.serve({ at: ['tcp 10.96.0.1:80'], internal: four, roundRobin: true })
    const answers: string[] = []
    for (let i = 0; i < 8; i++) answers.push(await askFrom(pod, '10.96.0.1:80'))
    const turn = ['10.77.1.11', '10.77.1.12', '10.77.1.13', '10.77.1.14']
    expect(answers).toEqual([...turn, ...turn])
    expect(served.stats.turn).toBe(8)
  })

  test('two programs at a time do not confuse round robin', async () => {
    const served = await hooks.serve({ at: ['tcp 10.96.0.1:80'], internal: four, roundRobin: true })
    const program = `
      const { connect } = require('node:net')
      let left = 200
      const next = () => {
        if (left-- === 0) return
        const socket = connect({ host: '10.96.0.1', port: 80 }, () => { socket.destroy(); next() })
      }
      next()`
    const running = [0, 1].map(() => pod.start(process.execPath, ['-e', program], process.env))
    const codes = await Promise.all(running.map((child) => new Promise((resolve) => child.once('exit', resolve))))
    expect(codes).toEqual([0, 0])
    expect(served.picked(...four)).toEqual([100, 100, 100, 100])
  })

  test('a pod reaches itself through its Service', async () => {
    await hooks.serve({ at: ['tcp 10.96.0.1:80'], internal: [`${podAddresses.ipv4}:8080`] })
    using socket = ClientSocket.tcp(pod)
    expect(socket.connect('10.96.0.1:80')).toBe('ok')
    expect(socket.peer).toBe('10.96.0.1:80')
    expect(await socket.read()).toMatchObject({ answeredBy: podAddresses.ipv4, sawSource: podAddresses.ipv4 })
  })

  test('a socket keeps the address that it is bound to', async () => {
    await hooks.serve({ at: ['tcp 10.96.0.1:80'], internal: [first] })
    using socket = ClientSocket.tcp(host)
    expect(socket.bind('10.77.3.1:0')).toBe('ok')
    expect(socket.connect('10.96.0.1:80')).toBe('ok')
    expect(await socket.read()).toMatchObject({ answeredBy: '10.77.1.11', sawSource: '10.77.3.1' })
  })

  test.each([
    ['IPv4', 'ipv4', '10.96.0.1:80', '10.77.1.11:7070', podAddresses.ipv4],
    ['IPv6', 'ipv6', '[fd96::1]:80', '[fd77:1::11]:7070', `[${podAddresses.ipv6}]`],
    ['IPv4-mapped', 'ipv6', '10.96.0.1:80', '10.77.1.11:7070', podAddresses.ipv4],
  ] as const)('a server of %s is told who its client is', async (_what, family, service, endpoint, own) => {
    await hooks.serve({ at: [`tcp ${service}`], internal: [endpoint] })
    // It was a client of that endpoint before, so that there is something to confuse.
    using server = ClientSocket.tcp(pod, family)
    const peer = ClientSocket.tcp(nodes.servers, family)
    expect([peer.bind(endpoint), peer.listen(), server.connect(service)]).toEqual(['ok', 'ok', 'ok'])
    expect(server.peer).toBe(service)
    peer[Symbol.dispose]()
    expect([server.disconnect(), server.bind(`${own}:0`), server.listen()]).toEqual(['ok', 'ok', 'ok'])

    using client = ClientSocket.tcp(nodes.servers, family)
    const [socketLevel, reuseAddress] = [1, 2]
    expect(client.set(socketLevel, reuseAddress, 1)).toBe('ok')
    expect([client.bind(endpoint), client.connect(server.own)]).toEqual(['ok', 'ok'])
    expect(await server.accept()).toEqual({ from: endpoint, peer: endpoint })
  })

  test('a socket that goes to an endpoint itself after the Service is shown the endpoint', async () => {
    await hooks.serve({ at: ['udp 10.96.0.1:53'], internal: [first] })
    using socket = ClientSocket.udp(pod)
    expect(socket.connect('10.96.0.1:53')).toBe('ok')
    expect(socket.peer).toBe('10.96.0.1:53')
    expect(socket.connect(first)).toBe('ok')
    expect(socket.peer).toBe(first)
  })

  describe('with affinity', () => {
    const at = '127.0.0.1:30080'
    const service = { externalAt: ['tcp 30080'], external: four, affinitySeconds: 100 } as const

    test('stay with one endpoint on loopback, until it ends', async () => {
      const served = await hooks.serve(service)
      const chosen = await askFrom(host, at)
      for (let i = 0; i < 10; i++) expect(await askFrom(host, at)).toBe(chosen)
      await served.closeForNew(`${chosen}:8080`)
      const next = new Set<string>()
      for (let i = 0; i < 10; i++) next.add(await askFrom(host, at))
      // The list still has the endpoint that is closed: who meets it is left to the packet path, and not remembered.
      next.delete('packets')
      expect(next.has(chosen)).toBe(false)
      expect(next.size).toBe(1)
    })

    test('are forgotten when the time is over, which begins anew with each connection', async () => {
      const served = await hooks.serve({ ...service, roundRobin: true })
      const seconds = 1_000_000_000n
      const memoryAt = served.index * layout.affinity.size
      const age = (by: bigint) =>
        hooks.map('affinity').store(memoryAt + layout.affinity.lastUse, process.hrtime.bigint() - by)
      expect(await askFrom(host, at)).toBe('10.77.1.11')
      await age(90n * seconds)
      expect(await askFrom(host, at)).toBe('10.77.1.11')
      const { lastUse } = decodeAffinity(hooks.map('affinity').bytes, memoryAt)
      expect(process.hrtime.bigint() - lastUse).toBeLessThan(60n * seconds)
      await age(101n * seconds)
      expect(await askFrom(host, at)).toBe('10.77.1.12')
      expect(served.stats.turn).toBe(2)
    })

    test('are left to the packet path at every other address: it remembers those', async () => {
      await hooks.serveNodePortsAt(nodeAddresses.ipv4)
      const served = await hooks.serve({ ...service, at: ['tcp 10.96.0.1:80'], internal: four })
      for (const [namespace, place] of [
        [pod, '10.96.0.1:80'],
        [host, '10.96.0.1:80'],
        [host, `${nodeAddresses.ipv4}:30080`],
      ] as const)
        expect(await askFrom(namespace, place)).toBe('packets')
      expect(served.stats).toMatchObject({ connections: 0, passed: 0 })
    })
  })

  describe('of other kinds', () => {
    describe.each(ways)('over $what', ({ family, service, endpoints: [endpoint], source }) => {
      const answer = { answeredBy: parsePlace(endpoint).ip, sawSource: source }

      test('fast open finds the endpoint, with data in the first call', async () => {
        const served = await hooks.serve({ at: [`tcp ${service}`], internal: [endpoint] })
        const fastOpen = 0x2000_0000
        using socket = ClientSocket.tcp(pod, family)
        expect(socket.send('hello', service, fastOpen)).toBe('ok')
        expect(socket.peer).toBe(service)
        expect(await socket.read()).toMatchObject(answer)
        expect(served.stats).toMatchObject({ connections: 1, passed: 0 })
      })

      test('fast open finds the endpoint, with a connect that waits for data', async () => {
        const served = await hooks.serve({ at: [`tcp ${service}`], internal: [endpoint] })
        const [tcpLevel, fastOpenConnect, clientsWithoutCookie] = [6, 30, 5]
        // Without a cookie of the server, it would not wait.
        pod.setSysctl('ipv4.tcp_fastopen', clientsWithoutCookie)
        onTestFinished(() => pod.setSysctl('ipv4.tcp_fastopen', 1))
        using socket = ClientSocket.tcp(pod, family)
        expect(socket.set(tcpLevel, fastOpenConnect, 1)).toBe('ok')
        expect(socket.connect(service)).toBe('ok')
        expect(socket.peer).toBe('ENOTCONN')
        expect(socket.send('hello')).toBe('ok')
        expect(await socket.read()).toMatchObject(answer)
        expect(socket.peer).toBe(service)
        expect(served.stats).toMatchObject({ connections: 1, passed: 0 })
      })

      test('multipath TCP finds the endpoint, and is shown it as its peer', async () => {
        const served = await hooks.serve({ at: [`tcp ${service}`], internal: [endpoint] })
        const multipath = 262
        using socket = new ClientSocket(pod, { family, type: 'stream', protocol: multipath })
        expect(socket.connect(service)).toBe('ok')
        // The hooks see its subflow connect, and another socket asks.
        expect(socket.peer).toBe(endpoint)
        expect(await socket.read()).toMatchObject(answer)
        expect(served.stats).toMatchObject({ connections: 1, passed: 0 })
      })
    })

    // The kernel takes the port of an address for the protocol, when somebody sends raw packets of IPv6.
    test.each([
      ['UDP-Lite', 'ipv4', 'datagrams', 136, '10.96.0.1'],
      ['raw packets', 'ipv4', 'raw', 17, '10.96.0.1'],
      ['UDP-Lite over IPv6', 'ipv6', 'datagrams', 136, '[fd96::1]'],
      ['raw packets over IPv6', 'ipv6', 'raw', 17, '[fd96::1]'],
    ] as const)('%s: left alone', async (_what, family, type, protocol, ip) => {
      const served = await hooks.serve({ at: [`tcp ${ip}:17`, `udp ${ip}:17`], internal: [serverPlaces[family][0]] })
      using socket = new ClientSocket(pod, { family, type, protocol })
      expect(socket.connect(`${ip}:17`)).toBe('ok')
      expect(socket.peer).toContain(`${ip}:`)
      expect(socket.own).toContain(podAddresses[family])
      using unconnected = new ClientSocket(pod, { family, type, protocol })
      for (const each of [socket, unconnected]) expect(each.send('datagram', `${ip}:17`)).toBe('ok')
      expect(served.stats).toMatchObject({ connections: 0, passed: 0 })
    })
  })

  describe('are left alone', () => {
    test('when the daemon has not renewed its lease', async () => {
      await hooks.serve({ at: ['tcp 10.96.0.1:80', 'udp 10.96.0.1:53'], internal: [first] })
      await hooks.configure({ leaseUntil: process.hrtime.bigint() - 1_000_000_000n })
      expect(await askFrom(pod, '10.96.0.1:80')).toBe('packets')
      using datagrams = ClientSocket.udp(pod)
      datagrams.send('hello', '10.96.0.1:53')
      expect((await datagrams.receive()).answer.answeredBy).toBe('packets')
      await hooks.configure({ leaseUntil: process.hrtime.bigint() + 100_000_000_000n })
      expect(await askFrom(pod, '10.96.0.1:80')).toBe('10.77.1.11')
    })

    test('in pods, when only the host is wanted', async () => {
      await hooks.serve({ at: ['tcp 10.96.0.1:80'], internal: [first] })
      await hooks.configure({ with: configFlags.hostOnly })
      expect(await askFrom(pod, '10.96.0.1:80')).toBe('packets')
      expect(await askFrom(host, '10.96.0.1:80')).toBe('10.77.1.11')
    })

    test('when TCP is switched off', async () => {
      await hooks.serve({ at: ['tcp 10.96.0.1:80'], internal: [first] })
      await hooks.configure({ without: configFlags.tcp })
      expect(await askFrom(pod, '10.96.0.1:80')).toBe('packets')
    })

    test('when the socket has no memory for its state, and are not counted as translated', async (context) => {
      const served = await hooks.serve({ at: ['tcp 10.96.0.1:80', 'udp 10.96.0.1:53'], internal: [first] })
      try {
        neighbour.setSysctl('core.optmem_max', 0)
      } catch {
        context.skip('this kernel has one limit for the whole machine')
      }
      expect(await askFrom(neighbour, '10.96.0.1:80')).toBe('packets')
      using datagrams = ClientSocket.udp(neighbour)
      datagrams.send('hello', '10.96.0.1:53')
      expect((await datagrams.receive()).answer.answeredBy).toBe('packets')
      expect(served.stats).toMatchObject({ connections: 0, passed: 2 })
      expect(served.picked(first)).toEqual([0])
      await hooks.configure({ with: configFlags.noPeerNames })
      expect(await askFrom(neighbour, '10.96.0.1:80')).toBe('10.77.1.11')
    })
  })

  test('without peer names a socket is shown its endpoint', async () => {
    await hooks.serve({ at: ['tcp 10.96.0.1:80'], internal: [first] })
    await hooks.configure({ with: configFlags.noPeerNames })
    using socket = ClientSocket.tcp(pod)
    expect(socket.connect('10.96.0.1:80')).toBe('ok')
    expect(socket.peer).toBe(first)
  })
})
