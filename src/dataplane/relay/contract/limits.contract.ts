import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { PoolLimits, SocketAddress } from '../relay.ts'
import { ask, eventually, open, udpClient } from '../testing/clients.ts'
import { echoEndpoint, refusingAddress, tcpEndpoint, udpEndpoint, type TestEndpoint } from '../testing/endpoints.ts'
import { listenerSpec, relayTo, use, type MakeRelay } from '../testing/relay-under-test.ts'

const atMost = (limits: Omit<PoolLimits, 'sharedAs'>) => ({ pool: { limits: { sharedAs: 'shop/web', ...limits } } })

export function limitsContract(make: MakeRelay): void {
  test('a connection above the limit waits until there is room', async () => {
    const { address, stats } = await relayTo(make, [use(await echoEndpoint())], atMost({ connections: 2 }))
    const [first] = [await greeted(address), await greeted(address)]
    const third = greeted(address)
    await eventually(() => stats().limited.waited === 1)
    await sleep(100)
    expect(stats().active).toBe(2)
    first.destroy()
    const served = await third
    expect(stats()).toMatchObject({ limited: { waited: 1 }, turnedAway: { 'max-connections': 0 } })
    served.destroy()
  })

  test('and is refused after five seconds', async () => {
    const { address, stats } = await relayTo(make, [use(await echoEndpoint())], atMost({ connections: 1 }))
    const first = await greeted(address)
    const startedAtMs = performance.now()
    expect(await ask(address, 'hello')).toBe('ECONNRESET')
    expect(performance.now() - startedAtMs).toBeGreaterThan(4_500)
    expect(stats()).toMatchObject({ active: 1, limited: { waited: 1 }, turnedAway: { 'max-connections': 1 } })
    first.destroy()
    await eventually(() => stats().active === 0)
    expect(await ask(address, 'again')).toBe('again')
  })

  test('there are never more than the limit, whoever serves them, and all are served', async () => {
    let [now, most, all] = [0, 0, 0]
    const busy = () =>
      tcpEndpoint((socket) => {
        now++
        all++
        most = Math.max(most, now)
        socket.resume()
        setTimeout(() => {
          now-- // Before the relay can know of it.
          socket.end('done')
        }, 5)
      })
    const { address, stats } = await relayTo(make, [use(await busy()), use(await busy())], atMost({ connections: 5 }))
    const answers = await Promise.all(Array.from({ length: 200 }, () => ask(address, 'hello')))
    expect(new Set(answers)).toEqual(new Set(['done']))
    expect({ most, all }).toEqual({ most: 5, all: 200 })
    await eventually(() => stats().active === 0)
  })

  test('an endpoint that has enough is passed over, also for a client that used it before', async () => {
    const [a, b] = [use(await echoEndpoint()), use(await echoEndpoint())]
    const limits = { sharedAs: 'shop/web', connectionsPerEndpoint: 1 }
    const { address, stats } = await relayTo(make, [a, b], { pool: { limits, affinitySeconds: 60 } })
    const clients = [await greeted(address), await greeted(address)]
    expect([a.open, b.open]).toEqual([1, 1])
    const third = greeted(address)
    await eventually(() => stats().limited.waited === 1)
    clients[0]?.destroy()
    await third
    expect([a.open, b.open]).toEqual([1, 1])
    expect(stats().turnedAway).toMatchObject({ 'max-connections': 0 })
    for (const client of [...clients, await third]) client.destroy()
  })

  test('no second has more dials than the limit', async () => {
    const arrivals: number[] = []
    const noting = use(
      await tcpEndpoint((socket) => {
        arrivals.push(performance.now())
        socket.resume()
        socket.end('a')
      }),
    )
    const { address, stats } = await relayTo(make, [noting], atMost({ dialsPerSecond: 10 }))
    const answers = await Promise.all(Array.from({ length: 25 }, () => ask(address)))
    expect(new Set(answers)).toEqual(new Set(['a']))
    expect(arrivals).toHaveLength(25)
    // They arrive a little later than they were dialled, and not all equally so.
    const spans = arrivals.slice(10).map((last, index) => last - (arrivals[index] ?? 0))
    expect(Math.min(...spans)).toBeGreaterThan(800)
    expect(stats().limited.waited).toBeGreaterThanOrEqual(15)
  })

  test('dials of each endpoint are limited on their own', async () => {
    const [a, b] = [use(await echoEndpoint()), use(await echoEndpoint())]
    const { address, stats } = await relayTo(make, [a, b], atMost({ dialsPerSecondPerEndpoint: 5 }))
    await Promise.all(Array.from({ length: 10 }, () => ask(address, 'x')))
    expect([a.arrivals, b.arrivals]).toEqual([5, 5])
    expect(stats().limited.waited).toBe(0)
    expect(await ask(address, 'y')).toBe('y')
    expect(stats().limited.waited).toBe(1)
  })

  for (const limits of [{ dialsPerSecond: 1 }, { dialsPerSecondPerEndpoint: 1 }])
    test(`whoever finds the line full is refused by the limit that it waits for: ${Object.keys(limits)[0]}`, async () => {
      const { address, stats } = await relayTo(make, [use(await echoEndpoint())], atMost(limits))
      const clients = Array.from({ length: 1_100 }, () => open(address).on('error', () => {}))
      await eventually(() => Object.values(stats().turnedAway).reduce((sum, count) => sum + count, 0) >= 50)
      const { turnedAway } = stats()
      for (const client of clients) client.destroy()
      expect(turnedAway['max-dials-per-second']).toBeGreaterThanOrEqual(50)
      expect(turnedAway['max-connections']).toBe(0)
    })

  test('and whoever waits for too long by the one that it waits for then', async () => {
    const endpoint = use(await echoEndpoint())
    const { address, change, stats } = await relayTo(make, [endpoint], atMost({ connections: 1 }))
    const first = await greeted(address)
    const clients = Array.from({ length: 20 }, () => open(address).on('error', () => {}))
    await eventually(() => stats().limited.waited === 20)
    await change([endpoint], atMost({ dialsPerSecond: 1 }))
    await eventually(() => Object.values(stats().turnedAway).some((count) => count > 0))
    const { turnedAway } = stats()
    for (const client of [first, ...clients]) client.destroy()
    expect(turnedAway['max-dials-per-second']).toBeGreaterThan(0)
    expect(turnedAway['max-connections']).toBe(0)
  })

  test('a limit that comes late counts what is open, and one that goes lets everybody in', async () => {
    const endpoint = use(await echoEndpoint())
    const { address, change, stats } = await relayTo(make, [endpoint])
    const [first] = [await greeted(address), await greeted(address)]
    await change([endpoint], atMost({ connections: 2 }))
    const third = greeted(address)
    await eventually(() => stats().limited.waited === 1)
    first.destroy()
    await third
    const fourth = greeted(address)
    await eventually(() => stats().limited.waited === 2)
    await change([endpoint])
    await fourth
    await greeted(address)
    expect(stats()).toMatchObject({ active: 4, limited: { waited: 2 } })
  })

  test('pools of one Service port count together', async () => {
    const endpoint = use(await echoEndpoint())
    const { relay, address } = await relayTo(make, [endpoint], atMost({ connectionsPerEndpoint: 1 }))
    const limits = { sharedAs: 'shop/web', connectionsPerEndpoint: 1 }
    const other = await relay.set(listenerSpec([endpoint], { id: 'local', pool: { id: 'local', limits } }))
    if (!other.ok) throw new Error(other.message)
    const first = await greeted(address)
    const second = greeted(other.address)
    await eventually(() => relay.counts('local')?.limited.waited === 1)
    first.destroy()
    await second
    await relay.remove('web')
    expect(endpoint.arrivals).toBe(2)
  })

  test('a dial that failed gives its place back', async () => {
    const dead = { address: await refusingAddress() }
    const { address, change, stats } = await relayTo(
      make,
      [dead],
      atMost({ connections: 1, connectionsPerEndpoint: 1 }),
    )
    for (let round = 0; round < 3; round++) expect(await ask(address)).toBe('ECONNRESET')
    expect(stats()).toMatchObject({ limited: { waited: 0 }, turnedAway: { unreachable: 3 } })
    const well: TestEndpoint = use(await echoEndpoint())
    await change([well], atMost({ connections: 1, connectionsPerEndpoint: 1 }))
    for (let round = 0; round < 3; round++) expect(await ask(address, 'x')).toBe('x')
  })

  test('a client that leaves while it waits takes no place', async () => {
    const { address, stats } = await relayTo(make, [use(await echoEndpoint())], atMost({ connections: 1 }))
    const first = await greeted(address)
    const impatient = open(address)
    await eventually(() => stats().limited.waited === 1)
    impatient.resetAndDestroy()
    await sleep(50)
    first.destroy()
    expect(await ask(address, 'x')).toBe('x')
  })

  test('UDP clients above the limit are refused at once', async () => {
    const endpoint = use(await udpEndpoint('a'))
    const limits = { sharedAs: 'shop/web', connections: 1 }
    const idle = { udpIdleMs: 600_000 }
    const { address, stats } = await relayTo(make, [endpoint], { protocol: 'UDP', pool: { limits } }, idle)
    const [first, second] = [use(await udpClient()), use(await udpClient())]
    expect(await first.ask(address, 'hello')).toBe('a:hello')
    second.send(address, 'hello')
    await eventually(() => stats().turnedAway['max-connections'] > 0)
    expect(stats().active).toBe(1)
  })
}

async function greeted(address: SocketAddress): Promise<Socket> {
  const client = open(address)
  // The relay that ends with the test resets it.
  client.on('error', () => {})
  client.write('hello')
  await once(client, 'data')
  return client
}
