/** Faults of a real cluster. Each may only affect the connections that it hits. */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { ask, eventually, open } from '../testing/clients.ts'
import { echoEndpoint, namedEndpoint, refusingAddress, tcpEndpoint } from '../testing/endpoints.ts'
import { relayTo, use, type MakeRelay } from '../testing/relay-under-test.ts'
import { wasReset } from '../node/tcp-reset.ts'

export function faultContract(make: MakeRelay): void {
  test('a dead endpoint among three costs no client its answer', async () => {
    const dead = { address: await refusingAddress() }
    const { address, stats } = await relayTo(make, [dead, use(await namedEndpoint('b')), use(await namedEndpoint('c'))])
    const answers = await Promise.all(Array.from({ length: 300 }, () => ask(address)))
    expect(new Set(answers)).toEqual(new Set(['b', 'c']))
    expect(stats().turnedAway).toMatchObject({ unreachable: 0 })
    expect(stats().dialFailures).toBeGreaterThan(0)
  })

  test('an endpoint that accepts and never answers holds its own clients only', async () => {
    const mute = use(await tcpEndpoint((socket) => socket.resume()))
    const echo = use(await echoEndpoint())
    const { address, stats } = await relayTo(make, [mute, echo])
    const clients = Array.from({ length: 20 }, () => open(address))
    let answered = 0
    for (const client of clients) client.once('data', () => answered++).write('hello')
    await eventually(() => answered === 10)
    await eventually(() => stats().active === 20)
    expect(stats().dialFailures).toBe(0)
    // After a plain end these connections would stay half open, because the mute endpoint never ends its side.
    for (const client of clients) client.resetAndDestroy()
    await eventually(() => stats().active === 0)
  })

  test('a reset in the middle of a large answer reaches the client, and frees what waited', async () => {
    const sockets: Socket[] = []
    const pouring = use(
      await tcpEndpoint((socket) => {
        sockets.push(socket)
        pour(socket)
      }),
    )
    const { address, relay, stats } = await relayTo(make, [pouring])
    const client = open(address)
    client.pause()
    await eventually(() => relay.stats().bufferedBytes > 0)
    sockets[0]?.resetAndDestroy()
    client.resume()
    expect(await endingOf(client)).toBe('ECONNRESET')
    client.destroy()
    await eventually(() => stats().active === 0)
    expect(relay.stats().bufferedBytes).toBe(0)
  })

  test('a reset in the middle of a large request reaches the endpoint, and frees what waited', async () => {
    const sockets: Socket[] = []
    const idle = use(
      await tcpEndpoint((socket) => {
        sockets.push(socket)
        socket.pause()
      }),
    )
    const { address, relay, stats } = await relayTo(make, [idle])
    const client = open(address)
    pour(client)
    await eventually(() => relay.stats().bufferedBytes > 0 && sockets.length === 1)
    client.resetAndDestroy()
    expect(await Promise.all(sockets.map((socket) => endingOf(socket.resume())))).toEqual(['ECONNRESET'])
    await eventually(() => stats().active === 0)
    expect(relay.stats().bufferedBytes).toBe(0)
  })

  test('a client that reads slowly gets every byte, and keeps nobody waiting', async () => {
    const size = 16 << 20
    const endpoint = use(
      await tcpEndpoint((socket) => {
        socket.resume()
        socket.once('data', () => socket.end('quick'))
        socket.once('end', () => socket.end(Buffer.alloc(size)))
      }),
    )
    const { address, stats } = await relayTo(make, [endpoint])
    const slow = open(address)
    slow.end()
    let [received, chunks] = [0, 0]
    const others: string[] = []
    for await (const chunk of slow) {
      received += (chunk as Buffer).length
      if (chunks++ % 16 === 0) others.push(await ask(address, 'now'))
    }
    expect(received).toBe(size)
    expect(new Set(others)).toEqual(new Set(['quick']))
    await eventually(() => stats().active === 0)
  })

  test('while endpoints, affinity and balancing change all the time, everybody is served', async () => {
    const names = ['a', 'b', 'c', 'd']
    const endpoints = await Promise.all(names.map(async (name) => use(await namedEndpoint(name))))
    const { address, change, stats, relay } = await relayTo(make, endpoints, {}, { drainTimeoutMs: 600_000 })
    const balancings = ['round-robin', 'random', 'least-connections'] as const
    const over = new AbortController()
    const answers = new Set<string>()
    const clients = Array.from({ length: 16 }, async () => {
      while (!over.signal.aborted) answers.add(await ask(address))
    })
    for (let changes = 0; changes < 200; changes++) {
      const pool = {
        id: `pool-${Math.floor(changes / 50)}`,
        affinitySeconds: changes % 3,
        balancing: balancings[changes % 3] ?? 'random',
      }
      await change(
        endpoints.filter((_, index) => index === 0 || (changes >> index) % 2 === 0),
        { pool },
      )
      answers.add(await ask(address))
    }
    over.abort()
    await Promise.all(clients)
    expect([...answers].filter((answer) => !names.includes(answer))).toEqual([])
    await eventually(() => stats().active === 0 && relay.stats().descriptors.used === 1)
    expect(relay.stats().pools).toBe(1)
  })
}

/** Writes whenever there is room. */
function pour(socket: Socket): void {
  const chunk = Buffer.alloc(1 << 20)
  const more = () => {
    while (socket.write(chunk));
  }
  socket.on('drain', more)
  socket.on('error', () => {})
  more()
}

/** Node sometimes reports a reset as a plain end. */
async function endingOf(socket: Socket): Promise<string | undefined> {
  return once(socket, 'end').then(
    () => (wasReset(socket) ? 'ECONNRESET' : 'a plain end'),
    (error: NodeJS.ErrnoException) => error.code,
  )
}
