/** What goes wrong in a real cluster, at a size that shows leaks. */
import { readdirSync } from 'node:fs'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { silentLogger } from '../../core/logger.ts'
import { NodeRelay } from './node-relay.ts'
import { ask, eventually, open } from './testing/clients.ts'
import { echoEndpoint, tcpEndpoint } from './testing/endpoints.ts'
import { relayTo, use, type MakeRelay } from './testing/relay-under-test.ts'
import { wasReset } from './was-reset.ts'

const make: MakeRelay = (settings) => new NodeRelay({ log: silentLogger, clock: systemClock, settings })

test('an endpoint that accepts and never answers holds its own clients only', async () => {
  const mute = use(await tcpEndpoint((socket) => socket.resume()))
  const echo = use(await echoEndpoint())
  const { address, stats } = await relayTo(make, [mute, echo])
  const clients = Array.from({ length: 20 }, () => open(address))
  let answered = 0
  for (const client of clients) client.once('data', () => answered++).write('hello')
  await eventually(() => answered === 10)
  expect(stats()).toMatchObject({ active: 20, dialFailures: 0 })
  // A plain end would leave the mute endpoint half of its connections, as it should.
  for (const client of clients) client.resetAndDestroy()
  await eventually(() => stats().active === 0)
})

test('a reset in the middle of a large answer reaches the client, and frees what waited', async () => {
  const sockets: Socket[] = []
  const pouring = use(
    await tcpEndpoint((socket) => {
      sockets.push(socket)
      const chunk = Buffer.alloc(1 << 20)
      const pour = () => {
        while (socket.write(chunk));
      }
      socket.on('drain', pour)
      pour()
    }),
  )
  const { address, relay, stats } = await relayTo(make, [pouring])
  const client = open(address)
  client.pause()
  await eventually(() => relay.stats().bufferedBytes > 0)
  sockets[0]?.resetAndDestroy()
  client.resume()
  // The client is Node too, and may take the reset for an end.
  const ending = await once(client, 'end').then(
    () => (wasReset(client) ? 'ECONNRESET' : 'a plain end'),
    (error: NodeJS.ErrnoException) => error.code,
  )
  expect(ending).toBe('ECONNRESET')
  client.destroy()
  await eventually(() => stats().active === 0)
  expect(relay.stats().bufferedBytes).toBe(0)
})

test.runIf(process.platform === 'linux')(
  '20,000 connections against a budget for few: the rest is turned away, and every descriptor comes back',
  async () => {
    const echo = use(await echoEndpoint())
    const { address, relay, stats } = await relayTo(make, [echo], {}, { maxDescriptors: 1_024 })
    const kept = await holdOpen(address, relay.stats().descriptors.budget / 2 - 1)
    const before = openDescriptors()
    const wave = 250
    for (let sent = 0; sent < 20_000; sent += wave) {
      const answers = await Promise.all(Array.from({ length: wave }, () => ask(address, 'too many')))
      expect(answers.filter((answer) => answer === 'too many').length).toBeLessThanOrEqual(1)
    }
    await eventually(() => openDescriptors() <= before)
    expect(stats()).toMatchObject({ active: kept.length, connections: kept.length + 20_000 })
    for (const client of kept) client.destroy()
    await eventually(() => relay.stats().descriptors.used === 1)
    expect(await ask(address, 'again')).toBe('again')
  },
  120_000,
)

async function holdOpen(address: Parameters<typeof open>[0], count: number): Promise<readonly Socket[]> {
  const clients: Socket[] = []
  while (clients.length < Math.floor(count)) {
    const client = open(address)
    client.write('hello')
    await once(client, 'data')
    clients.push(client)
  }
  return clients
}

function openDescriptors(): number {
  return readdirSync('/proc/self/fd').length
}
