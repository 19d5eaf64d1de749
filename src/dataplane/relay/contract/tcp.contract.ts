import { once } from 'node:events'
import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { parseCidr } from '../../../net/ip.ts'
import { proxyHeader } from '../node/proxy-protocol.ts'
import { ask, askTimes, eventually, open } from '../testing/clients.ts'
import { echoEndpoint, namedEndpoint, refusingAddress, silentEndpoint, tcpEndpoint } from '../testing/endpoints.ts'
import { isWholeLoopbackLocal } from '../testing/own-loopback.ts'
import { relayTo, use, type MakeRelay } from '../testing/relay-under-test.ts'

export function tcpContract(make: MakeRelay): void {
  for (const ip of ['127.0.0.1', '::1'])
    test(`spreads connections evenly over the endpoints of ${ip}`, async () => {
      const endpoints = [
        use(await namedEndpoint('a', { ip })),
        use(await namedEndpoint('b', { ip })),
        use(await namedEndpoint('c', { ip })),
      ]
      const { address } = await relayTo(make, endpoints, { address: { ip, port: 0 } })
      expect(await askTimes(address, 30)).toEqual({ a: 10, b: 10, c: 10 })
    })

  test('carries bytes both ways unchanged and counts them', async () => {
    const { address, stats, relay } = await relayTo(make, [use(await echoEndpoint())])
    const request = 'x'.repeat(300_000)
    expect(await ask(address, request)).toBe(request)
    await eventually(() => stats().active === 0)
    expect(stats()).toMatchObject({ connections: 1, bytesIn: 300_000, bytesOut: 300_000, dialFailures: 0 })
    expect(stats().seconds).toBeGreaterThan(0)
    expect(relay.counts('web')).toEqual(expect.objectContaining({ connections: 1, bytesIn: 300_000 }))
    expect(relay.counts('nobody')).toBeUndefined()
  })

  test('lets a client end its side and still read the whole answer', async () => {
    const late = await tcpEndpoint((socket) => {
      let received = 0
      socket.on('data', (chunk) => (received += chunk.length))
      socket.on('end', () => setImmediate(() => socket.end(`got ${received}`)))
    })
    const { address } = await relayTo(make, [use(late)])
    expect(await ask(address, 'y'.repeat(100_000))).toBe('got 100000')
  })

  test('lets the endpoint end its side and still receive what the client sends', async () => {
    let received = 0
    const early = await tcpEndpoint((socket) => {
      socket.end('bye')
      socket.on('data', (chunk) => (received += chunk.length))
    })
    const { address, stats } = await relayTo(make, [use(early)])
    const client = open(address)
    client.resume()
    await once(client, 'end')
    client.end(Buffer.alloc(1_048_576))
    await eventually(() => stats().active === 0)
    await expect.poll(() => received, { timeout: 10_000 }).toBe(1_048_576)
  })

  test('closes a connection that one side has ended when nothing moves any more', async () => {
    const mute = await tcpEndpoint((socket) => socket.resume())
    const { address, stats } = await relayTo(make, [use(mute)], {}, { halfCloseTimeoutMs: 50 })
    expect(await ask(address, 'anyone there?')).toBe('ECONNRESET')
    await eventually(() => stats().active === 0)
  })

  test('a reset by the client reaches the endpoint', async () => {
    const broken = await brokenConnections()
    const { address } = await relayTo(make, [use(broken.endpoint)])
    const client = open(address)
    client.write('hello')
    await eventually(() => broken.received > 0)
    client.resetAndDestroy()
    await eventually(() => broken.codes.length > 0)
    expect(broken.codes).toEqual(['ECONNRESET'])
  })

  test('a reset by the client reaches the endpoint also after the endpoint has ended its side', async () => {
    const broken = await brokenConnections((socket) => socket.end('bye'))
    const { address, stats } = await relayTo(make, [use(broken.endpoint)])
    const client = open(address)
    client.resume()
    client.write('hello')
    await once(client, 'end')
    client.resetAndDestroy()
    await eventually(() => stats().active === 0 && broken.codes.length > 0)
    expect(broken.codes).toEqual(['ECONNRESET'])
  })

  test('a reset by the endpoint reaches the client', async () => {
    const rude = await tcpEndpoint((socket) => socket.once('data', () => socket.resetAndDestroy()))
    const { address, stats } = await relayTo(make, [use(rude)])
    expect(await ask(address, 'hello')).toBe('ECONNRESET')
    await eventually(() => stats().active === 0)
  })

  test('a client that does not read stops the endpoint instead of filling the memory', async () => {
    let sent = 0
    const firehose = await tcpEndpoint((socket) => {
      const chunk = Buffer.alloc(65_536)
      const pour = () => {
        while (sent < 1 << 30 && socket.write(chunk)) sent += chunk.length
      }
      socket.on('drain', pour)
      pour()
    })
    const { address, relay, stats } = await relayTo(make, [use(firehose)])
    const client = open(address)
    client.pause()
    await settles(() => sent)
    expect(relay.stats().bufferedBytes).toBeGreaterThan(0)
    expect(relay.stats().bufferedBytes).toBeLessThan(4 << 20)
    expect(stats().bytesOut).toBeLessThan(64 << 20)

    const stalledAt = sent
    client.resume()
    await eventually(() => sent > stalledAt + (16 << 20))
    client.destroy()
  })

  test('refuses with a reset when nobody can serve', async () => {
    const { address, stats } = await relayTo(make, [], { pool: { whenEmpty: 'refuse' } })
    expect(await ask(address)).toBe('ECONNRESET')
    expect(stats().turnedAway['no-endpoint']).toBe(1)
  })

  test('closes without an answer when others could serve but this node may not', async () => {
    const { address } = await relayTo(make, [], { pool: { whenEmpty: 'close' } })
    expect(await ask(address)).toBe('')
  })

  test.runIf(isWholeLoopbackLocal)('turns away clients from outside the allowed ranges', async () => {
    const a = use(await namedEndpoint('a'))
    const allowed = parseCidr('127.0.1.0/24')
    if (allowed === undefined) throw new Error('not a CIDR')
    const { address, stats } = await relayTo(make, [a], { allowedSources: [allowed] })
    expect(await ask(address, '', '127.0.1.9')).toBe('a')
    expect(await ask(address, '', '127.0.2.9')).toBe('ECONNRESET')
    expect(stats().turnedAway['source-not-allowed']).toBe(1)
    expect(a.arrivals).toBe(1)
  })

  test('skips an endpoint that refuses', async () => {
    const dead = { address: await refusingAddress() }
    const { address, stats } = await relayTo(make, [dead, use(await namedEndpoint('b'))])
    expect(await askTimes(address, 10)).toEqual({ b: 10 })
    // It was tried once in its turn, and last from then on.
    expect(stats().dialFailures).toBe(1)
  })

  test('resets the client after as many attempts as there are timeouts', async () => {
    const dead = { address: await refusingAddress() }
    const { address, stats } = await relayTo(make, [dead])
    expect(await ask(address)).toBe('ECONNRESET')
    expect(stats()).toMatchObject({ dialFailures: 4, turnedAway: { unreachable: 1 } })
  })

  test('goes on to the next endpoint when one does not answer in time', async () => {
    const endpoints = [use(await silentEndpoint()), use(await namedEndpoint('b'))]
    const { address, stats } = await relayTo(make, endpoints, {}, { dialTimeoutsMs: [20, 20_000] })
    expect(await askTimes(address, 2)).toEqual({ b: 2 })
    expect(stats().dialFailures).toBe(1)
  })

  test('an endpoint that does not answer delays only the clients that met it', async () => {
    const silent = use(await silentEndpoint())
    const endpoints = [silent, use(await namedEndpoint('b'))]
    const { address, stats } = await relayTo(make, endpoints, {}, { dialTimeoutsMs: [600_000, 600_000] })
    let answered = 0
    const answers = Array.from({ length: 100 }, () => ask(address).finally(() => answered++))
    await eventually(() => answered === 50)
    expect(stats().dialFailures).toBe(0)
    // Closed, it refuses instead of staying silent, so the clients that wait for it try the other endpoint.
    await silent[Symbol.asyncDispose]()
    expect(new Set(await Promise.all(answers))).toEqual(new Set(['b']))
    expect(stats().dialFailures).toBe(50)
  })

  test.runIf(isWholeLoopbackLocal)(
    'a client with affinity comes back to its endpoint, until that endpoint is gone',
    async () => {
      const [a, b] = [use(await namedEndpoint('a')), use(await namedEndpoint('b'))]
      const { address, change } = await relayTo(make, [a, b], { pool: { affinitySeconds: 3600 } })
      const first = await ask(address, '', '127.0.1.1')
      const second = await ask(address, '', '127.0.1.2')
      expect([first, second].sort()).toEqual(['a', 'b'])
      for (let i = 0; i < 3; i++) expect(await ask(address, '', '127.0.1.1')).toBe(first)

      const other = first === 'a' ? b : a
      await change([other])
      expect(await ask(address, '', '127.0.1.1')).toBe(second)
      await change([a, b])
      expect(await ask(address, '', '127.0.1.1')).toBe(second)
    },
  )

  test('a client with affinity moves on when its endpoint refuses', async () => {
    const a = await namedEndpoint('a')
    const b = use(await namedEndpoint('b'))
    const { address, change, stats } = await relayTo(make, [a], { pool: { affinitySeconds: 3600 } })
    expect(await ask(address)).toBe('a')
    await change([a, b])
    await a[Symbol.asyncDispose]()
    expect(await ask(address)).toBe('b')
    expect(await ask(address)).toBe('b')
    expect(stats().dialFailures).toBe(1)
  })

  test('by least connections a busy endpoint gets no more than its share', async () => {
    const endpoints = [use(await echoEndpoint()), use(await echoEndpoint())]
    const { address, stats } = await relayTo(make, endpoints, { pool: { balancing: 'least-connections' } })
    const kept: Socket[] = []
    for (let round = 0; round < 5; round++) {
      // One connection of each pair stays open. With round robin, all of those would be at one endpoint.
      const pair = [open(address), open(address)] as const
      for (const client of pair) {
        client.write('hello')
        await once(client, 'data')
      }
      kept.push(pair[0])
      pair[1].destroy()
      await eventually(() => stats().active === kept.length)
    }
    await expect.poll(() => endpoints.map((endpoint) => endpoint.open).toSorted((a, b) => a - b)).toEqual([2, 3])
    for (const client of kept) client.destroy()
  })

  for (const version of ['v1', 'v2'] as const)
    test(`the endpoint is told who the client is, before its first byte (PROXY ${version})`, async () => {
      const received: Buffer[] = []
      const listening = await tcpEndpoint((socket) => {
        socket.on('data', (chunk: Buffer) => received.push(chunk))
        socket.on('end', () => socket.end())
      })
      const { address } = await relayTo(make, [use(listening)], { pool: { proxyProtocol: version } })
      const client = open(address)
      await once(client, 'connect')
      const from = { ip: '127.0.0.1', port: client.localPort ?? 0 }
      client.end('hello')
      client.resume()
      await once(client, 'end')
      const expected = Buffer.concat([proxyHeader(version, from, address), Buffer.from('hello')])
      expect(Buffer.concat(received).toString('latin1')).toBe(expected.toString('latin1'))
    })

  for (const ip of ['127.0.0.1', '::1'])
    test(`an endpoint whose answers would not come past this machine is dialled from it all the same (${ip})`, async () => {
      const { address: plain } = use(await namedEndpoint('a', { ip }))
      const here = { address: { ...plain, isHere: true } }
      const keeps = { of: 'everybody', pods: { kind: 'none' } } as const
      const { relay, address } = await relayTo(make, [here], { address: { ip, port: 0 }, keeps })
      expect(await ask(address)).toBe('a')
      expect(relay.transparentConnections?.() ?? 0).toBe(0)
    })

  test('open connections to a removed endpoint end after the drain time, if one is set', async () => {
    const [a, b] = [use(await echoEndpoint()), use(await echoEndpoint())]
    const { address, change, stats } = await relayTo(make, [a], {}, { drainTimeoutMs: 30 })
    const client = open(address)
    client.write('hello')
    await once(client, 'data')
    await change([b])
    await expect(once(client, 'close')).rejects.toMatchObject({ code: 'ECONNRESET' })
    await eventually(() => stats().active === 0)
  })

  test('the drain time also runs for connections whose listener leads elsewhere now', async () => {
    const [a, b] = [use(await echoEndpoint()), use(await echoEndpoint())]
    const { address, change, stats } = await relayTo(make, [a], {}, { drainTimeoutMs: 30 })
    const client = open(address)
    client.write('hello')
    await once(client, 'data')
    await change([b], { pool: { id: 'other' } })
    await expect(once(client, 'close')).rejects.toMatchObject({ code: 'ECONNRESET' })
    await eventually(() => stats().active === 0)
  })

  test('turns clients away at the limit, keeps serving the others, and recovers', async () => {
    const echo = use(await echoEndpoint())
    // 64 are reserved and a tenth is headroom: room for the listener and 10 connections.
    const { address, relay, stats } = await relayTo(make, [echo], {}, { maxDescriptors: 64 + 24 })
    const clients: Socket[] = []
    for (let i = 0; i < 10; i++) {
      const client = open(address)
      client.write('hello')
      await once(client, 'data')
      clients.push(client)
    }
    expect(await ask(address, 'too many')).toBe('ECONNRESET')
    expect(stats()).toMatchObject({ active: 10, turnedAway: { overload: 1 } })
    for (const client of clients) {
      client.write('still here')
      expect(String((await once(client, 'data'))[0])).toBe('still here')
      client.destroy()
    }
    await eventually(() => relay.stats().descriptors.used === 1)
    expect(await ask(address, 'again')).toBe('again')
  })

  test('gives everything back after 2,000 clients that came and broke off', async () => {
    const { address, stats, relay } = await relayTo(make, [use(await echoEndpoint())])
    for (let round = 0; round < 40; round++) {
      const clients = Array.from({ length: 50 }, () => open(address))
      await Promise.all(clients.map((client) => once(client, 'connect')))
      for (const [index, client] of clients.entries()) {
        if (index % 2 === 0) client.write('hello')
        if (index % 3 === 0) client.destroy()
        else client.resetAndDestroy()
      }
    }
    await eventually(() => stats().connections === 2_000 && stats().active === 0)
    await eventually(() => relay.stats().descriptors.used === 1)
    expect(await ask(address, 'still here')).toBe('still here')
  })

  test('serves 1,000 connections at once', async () => {
    const { address, stats, relay } = await relayTo(make, [use(await echoEndpoint()), use(await echoEndpoint())])
    const clients = Array.from({ length: 1_000 }, () => open(address))
    const echoed = clients.map(async (client, index) => {
      client.write(`${index}`)
      return String((await once(client, 'data'))[0])
    })
    expect(await Promise.all(echoed)).toEqual(clients.map((_, index) => `${index}`))
    expect(stats().active).toBe(1_000)
    for (const client of clients) client.end()
    await eventually(() => stats().active === 0 && relay.stats().descriptors.used === 1)
  })
}

/** Notes how its connections break. */
async function brokenConnections(onConnection: (socket: Socket) => void = () => {}) {
  const codes: (string | undefined)[] = []
  let received = 0
  const endpoint = await tcpEndpoint((socket) => {
    socket.on('data', (chunk) => (received += chunk.length))
    socket.on('error', (error: NodeJS.ErrnoException) => codes.push(error.code))
    onConnection(socket)
  })
  return {
    endpoint,
    codes,
    get received() {
      return received
    },
  }
}

/** Resolves when the value has stopped changing. */
async function settles(value: () => number): Promise<void> {
  let last = -1
  let changedAt = performance.now()
  await eventually(() => {
    if (value() !== last) {
      last = value()
      changedAt = performance.now()
    }
    return last > 0 && performance.now() - changedAt > 200
  })
}
