import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { SocketAddress } from '../relay.ts'
import { ask, eventually, open, udpClient } from '../testing/clients.ts'
import { echoEndpoint, tcpEndpoint, udpEndpoint, type TestEndpoint } from '../testing/endpoints.ts'
import { relayTo, use, type MakeRelay } from '../testing/relay-under-test.ts'

const maxConnectionAgeMs = 400
const young = { pool: { maxConnectionAgeMs } }

export function ageContract(make: MakeRelay): void {
  test('a connection that is too old and silent after an answer is closed, and its client comes to another endpoint', async () => {
    const [a, b] = [use(await echoEndpoint()), use(await echoEndpoint())]
    const { address, stats } = await relayTo(make, [a, b], young)
    const startedAtMs = performance.now()
    const client = await greeted(address)
    client.resume()
    await once(client, 'end')
    expect(performance.now() - startedAtMs).toBeGreaterThan(0.85 * maxConnectionAgeMs)
    client.end()
    await once(client, 'close')
    await eventually(() => stats().active === 0 && a.open + b.open === 0)
    expect(stats().limited).toMatchObject({ aged: 1, 'aged-reset': 0 })
    expect(await ask(address, 'again')).toBe('again')
    expect([a.arrivals, b.arrivals]).toEqual([1, 1])
  })

  test('whoever waits for an answer is not ended before it has come', async () => {
    const answering: Socket[] = []
    const slow = () => tcpEndpoint((socket) => void answering.push(socket.resume()))
    const { address, stats } = await relayTo(make, [use(await slow()), use(await slow())], young)
    const client = open(address)
    client.write('question')
    await eventually(() => stats().active === 1 && stats().bytesIn > 0)
    await sleep(1.5 * maxConnectionAgeMs)
    expect(stats()).toMatchObject({ active: 1, limited: { aged: 0, 'aged-reset': 0 } })
    answering[0]?.write('answer')
    expect(String(await once(client, 'data'))).toBe('answer')
    await once(client, 'end')
    client.end()
    await eventually(() => stats().active === 0)
    expect(stats().limited).toMatchObject({ aged: 1, 'aged-reset': 0 })
  })

  test('a connection that does not come to rest is reset at twice its age', async () => {
    // More than all buffers on the way hold, for a client that does not read.
    const generous = () => tcpEndpoint((socket) => void socket.write(Buffer.alloc(64 << 20)))
    const endpoints = [use(await generous()), use(await generous())]
    const { address, stats } = await relayTo(make, endpoints, young)
    const startedAtMs = performance.now()
    const client = open(address).on('error', () => {})
    await eventually(() => stats().limited['aged-reset'] === 1)
    expect(performance.now() - startedAtMs).toBeGreaterThan(1.8 * maxConnectionAgeMs)
    expect(stats()).toMatchObject({ active: 0, limited: { aged: 0 } })
    client.destroy()
  })

  test('what a client sends after the end is not carried to the endpoint: it is reset', async () => {
    const heard: string[] = []
    const listening = () =>
      tcpEndpoint((socket) => {
        socket.on('data', (chunk: Buffer) => {
          heard.push(String(chunk))
          socket.write(chunk)
        })
      })
    const endpoints = [use(await listening()), use(await listening())]
    const { address, stats } = await relayTo(make, endpoints, young)
    const client = await greeted(address)
    client.resume()
    await once(client, 'end')
    // It reads no more, so only a further write tells it of the reset.
    const late = setInterval(() => client.write('late'), 5)
    const [error] = (await once(client, 'error')) as [NodeJS.ErrnoException]
    clearInterval(late)
    expect(['ECONNRESET', 'EPIPE']).toContain(error.code)
    await eventually(() => stats().active === 0 && endpoints.every(({ open: count }) => count === 0))
    expect(heard).toEqual(['hello'])
    expect(stats().limited).toMatchObject({ aged: 0, 'aged-reset': 1 })
  })

  test('a connection stays while there is no other endpoint, and moves when there is one', async () => {
    const [a, b] = [use(await echoEndpoint()), use(await echoEndpoint())]
    const { address, change, stats } = await relayTo(make, [a], { pool: { maxConnectionAgeMs: 200 } })
    const client = await greeted(address)
    await sleep(600)
    expect(stats()).toMatchObject({ active: 1, limited: { aged: 0, 'aged-reset': 0 } })
    await change([a, b])
    client.resume()
    await once(client, 'end')
    client.destroy()
  })

  test('connections that are open already get the age, and lose it', async () => {
    const endpoints = [use(await echoEndpoint()), use(await echoEndpoint())]
    const { address, change, stats } = await relayTo(make, endpoints)
    const clients = [await greeted(address), await greeted(address)]
    for (const client of clients) client.resume()
    await change(endpoints, { pool: { maxConnectionAgeMs: 60_000 } })
    await change(endpoints, { pool: {} })
    await change(endpoints, { pool: { maxConnectionAgeMs: 100 } })
    await Promise.all(clients.map((client) => once(client, 'end')))
    for (const client of clients) client.destroy()
    await eventually(() => stats().active === 0)
    const stays = await greeted(address)
    await change(endpoints)
    await sleep(300)
    expect(stats().active).toBe(1)
    stays.destroy()
  })

  test('connections of a listener that gets another pool follow the age of that one', async () => {
    const endpoints = [use(await echoEndpoint()), use(await echoEndpoint())]
    const { address, change, stats } = await relayTo(make, endpoints)
    const client = await greeted(address)
    client.resume()
    await change(endpoints, { pool: { id: 'local' } })
    await change(endpoints, { pool: { id: 'local', maxConnectionAgeMs: 100 } })
    await once(client, 'end')
    client.destroy()
    await eventually(() => stats().active === 0)
    await change(endpoints, { pool: { id: 'local', maxConnectionAgeMs: 1_000 } })
    const stays = await greeted(address)
    await change(endpoints, { pool: { id: 'cluster' } })
    await sleep(1_500)
    expect(stats().active).toBe(1)
    const moves = once(stays.resume(), 'end')
    await change(endpoints, { pool: { id: 'local', maxConnectionAgeMs: 100 } })
    await moves
    stays.destroy()
  })

  test('and whether there is another endpoint is asked of that one, too', async () => {
    const [a, b] = [use(await echoEndpoint()), use(await echoEndpoint())]
    const { address, change, stats } = await relayTo(make, [a], { pool: { maxConnectionAgeMs: 200 } })
    const client = await greeted(address)
    client.resume()
    await change([a, b], { pool: { id: 'cluster' } })
    await once(client, 'end')
    client.destroy()
    await eventually(() => stats().active === 0)
    await change([b], { pool: { id: 'local' } })
    const stays = await greeted(address)
    await change([b], { pool: { id: 'other' } })
    await sleep(600)
    expect(stats().active).toBe(1)
    const moves = once(stays.resume(), 'end')
    await change([a], { pool: { id: 'third' } })
    await moves
    stays.destroy()
  })

  test('many connections that began together do not end together', async () => {
    const endpoints: readonly TestEndpoint[] = [use(await echoEndpoint()), use(await echoEndpoint())]
    const { address, stats } = await relayTo(make, endpoints, { pool: { maxConnectionAgeMs: 2_000 } })
    const clients = await Promise.all(Array.from({ length: 60 }, () => greeted(address)))
    const ends = await Promise.all(
      clients.map(async (client) => {
        client.resume()
        await once(client, 'end')
        client.end()
        return performance.now()
      }),
    )
    expect(Math.max(...ends) - Math.min(...ends)).toBeGreaterThan(100)
    await eventually(() => stats().active === 0)
    expect(stats().limited).toMatchObject({ aged: 60, 'aged-reset': 0 })
  })

  test('a UDP client that is too old goes to another endpoint', async () => {
    const endpoints = [use(await udpEndpoint('a')), use(await udpEndpoint('b'))]
    const { address, stats } = await relayTo(
      make,
      endpoints,
      { protocol: 'UDP', pool: { maxConnectionAgeMs: 300 } },
      { udpIdleMs: 600_000 },
    )
    const client = use(await udpClient())
    const first = await client.ask(address, 'hello')
    await eventually(() => stats().limited.aged === 1)
    expect(await client.ask(address, 'hello')).toBe(first === 'a:hello' ? 'b:hello' : 'a:hello')
  })
}

async function greeted(address: SocketAddress): Promise<Socket> {
  const client = open(address)
  client.write('hello')
  await once(client, 'data')
  return client
}
