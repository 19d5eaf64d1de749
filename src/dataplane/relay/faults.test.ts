/** Relays in processes of their own, against the limits of a real process, at a size that shows leaks. */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildEngine, type BuiltEngine } from './native/testing/build-engine.ts'
import type { SocketAddress } from './relay.ts'
import { ask, open } from './testing/clients.ts'
import { echoEndpoint } from './testing/endpoints.ts'
import { relayProcess, type RelayProcess } from './testing/relay-process.ts'
import { use } from './testing/relay-under-test.ts'

let native: BuiltEngine

beforeAll(async () => {
  native = await buildEngine('address,undefined')
}, 60_000)
afterAll(() => native[Symbol.asyncDispose]())

const engines = [
  { name: 'the Node relay', engineOf: () => 'node' as const },
  { name: 'the native relay', engineOf: () => native },
]

describe.runIf(process.platform === 'linux').each(engines)('$name', ({ engineOf }) => {
  test('20,000 connections against 1,024 open files: the rest is turned away, and every descriptor comes back', async () => {
    const { address: endpoint } = use(await echoEndpoint())
    const relay = await relayProcess({ endpoint, engine: engineOf() }, { openFiles: 1_024 })
    const atFirst = relay.openDescriptors()
    const { budget } = (await relay.stats()).descriptors
    expect(budget).toBeLessThan(1_024)
    const kept = await holdOpen(relay.address, Math.floor((budget - 1) / 2))
    const wave = 500
    for (let sent = 0; sent < 20_000; sent += wave) {
      const answers = await Promise.all(Array.from({ length: wave }, () => ask(relay.address, 'too many')))
      expect(answers).not.toContain('too many')
    }
    const crowded = await relay.stats()
    expect(crowded).toMatchObject({ active: kept.length, connections: kept.length + 20_000, errors: [] })
    expect(crowded.turnedAway.overload).toBe(20_000)
    expect(crowded.warnings).toContain('clients are turned away: too many open connections')
    for (const client of kept) {
      client.write('still here')
      expect(String((await once(client, 'data'))[0])).toBe('still here')
    }

    for (const client of kept) client.destroy()
    await until(relay, ({ descriptors }) => descriptors.used === 1)
    expect(await ask(relay.address, 'again')).toBe('again')
    await until(relay, ({ active }) => active === 0 && relay.openDescriptors() <= atFirst)
  }, 120_000)

  test('one that really runs out of descriptors goes on, refuses, and recovers', async () => {
    const { address: endpoint } = use(await echoEndpoint())
    // A connection takes two descriptors. Whether accepting (where libuv closes the connection without reporting it) or
    // dialling finds none left depends on whether their number is odd.
    const reports: string[] = []
    for (const openFiles of [100, 101]) {
      const relay = await relayProcess({ endpoint, engine: engineOf(), maxDescriptors: 1_000_000 }, { openFiles })
      const atFirst = relay.openDescriptors()
      const { clients, answered } = await crowd(relay.address, 150)
      expect(answered).toBeGreaterThan(10)
      expect(answered).toBeLessThan(60)
      const crowded = await relay.stats()
      expect(crowded.dialFailures).toBe(0)
      reports.push(...crowded.warnings)

      for (const client of clients) client.destroy()
      await until(relay, ({ active }) => active === 0)
      expect(await ask(relay.address, 'again')).toBe('again')
      await until(relay, ({ active }) => active === 0 && relay.openDescriptors() <= atFirst)
      expect((await relay.stats()).errors).toEqual([])
    }
    expect([...new Set(reports)]).toEqual(['clients are turned away: too many open connections'])
  })
})

/** Connections that stay open until the test closes them. */
async function holdOpen(address: SocketAddress, count: number): Promise<readonly Socket[]> {
  const clients: Socket[] = []
  while (clients.length < count) {
    const client = open(address)
    client.write('hello')
    await once(client, 'data')
    clients.push(client)
  }
  return clients
}

/** Opens many connections at once; resolves when each has got an answer or its end. */
async function crowd(address: SocketAddress, size: number) {
  let answered = 0
  const clients = Array.from({ length: size }, () => open(address))
  await Promise.all(
    clients.map(async (client) => {
      client.on('error', () => {})
      client.once('data', () => answered++)
      client.write('hello')
      // Closed by libuv right after the accept, a client sees a clean end or a reset.
      await Promise.race([once(client, 'data'), once(client, 'end')]).catch(() => {})
    }),
  )
  return { clients, answered }
}

async function until(relay: RelayProcess, condition: (stats: Awaited<ReturnType<RelayProcess['stats']>>) => boolean) {
  const deadline = performance.now() + 20_000
  for (let stats = await relay.stats(); !condition(stats); stats = await relay.stats())
    if (performance.now() > deadline)
      throw new Error(`it never became true: ${String(condition)} ${JSON.stringify(stats)} ${relay.openDescriptors()}`)
}
