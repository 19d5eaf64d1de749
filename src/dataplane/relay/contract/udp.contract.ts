import { expect, test } from 'vitest'
import { eventually, udpClient } from '../testing/clients.ts'
import { udpEndpoint } from '../testing/endpoints.ts'
import { relayTo, use, type MakeRelay } from '../testing/relay-under-test.ts'

/** Long enough that no flow goes idle by chance. */
const lasting = { udpIdleMs: 600_000 }

export function udpContract(make: MakeRelay): void {
  for (const ip of ['127.0.0.1', '::1'])
    test(`answers come from the address that was asked, on ${ip}`, async () => {
      const a = use(await udpEndpoint('a', { ip }))
      const { address, stats } = await relayTo(make, [a], { protocol: 'UDP', address: { ip, port: 0 } }, lasting)
      const client = use(await udpClient(ip))
      const answer = client.next()
      client.send(address, 'hello')
      expect(await answer).toMatchObject({ text: 'a:hello', fromPort: address.port })
      expect(stats()).toMatchObject({ connections: 1, active: 1, bytesIn: 5, bytesOut: 7 })
    })

  test('a client stays with its endpoint; clients spread over the endpoints', async () => {
    const endpoints = [use(await udpEndpoint('a')), use(await udpEndpoint('b'))]
    const { address, stats } = await relayTo(make, endpoints, { protocol: 'UDP' }, lasting)
    const firsts: string[] = []
    for (let i = 0; i < 4; i++) {
      const client = use(await udpClient())
      const first = await client.ask(address, '1')
      firsts.push(first)
      expect(await client.ask(address, '2')).toBe(first.replace('1', '2'))
    }
    expect(firsts.sort()).toEqual(['a:1', 'a:1', 'b:1', 'b:1'])
    expect(stats().active).toBe(4)
  })

  test('carries datagrams of every size that fits', async () => {
    const { address } = await relayTo(make, [use(await udpEndpoint('a'))], { protocol: 'UDP' }, lasting)
    const client = use(await udpClient())
    for (const size of [0, 1, 6_000, 60_000]) {
      const answer = client.next()
      client.send(address, Buffer.alloc(size))
      expect((await answer).bytes).toBe('a:'.length + size)
    }
  })

  test('forgets a client that has gone idle', async () => {
    const { address, stats, relay } = await relayTo(
      make,
      [use(await udpEndpoint('a'))],
      { protocol: 'UDP' },
      { udpIdleMs: 30 },
    )
    const client = use(await udpClient())
    expect(await client.ask(address, 'hello')).toBe('a:hello')
    await eventually(() => stats().active === 0)
    expect(relay.stats().descriptors.used).toBe(1)
    expect(await client.ask(address, 'back')).toBe('a:back')
  })

  test('a flow moves at once when its endpoint leaves', async () => {
    const [a, b] = [use(await udpEndpoint('a')), use(await udpEndpoint('b'))]
    const { address, change } = await relayTo(make, [a], { protocol: 'UDP' }, lasting)
    const client = use(await udpClient())
    expect(await client.ask(address, '1')).toBe('a:1')
    await change([b])
    expect(await client.ask(address, '2')).toBe('b:2')
    expect(a.arrivals).toBe(1)
  })

  test('a flow whose endpoint refuses finds another one', async () => {
    const a = await udpEndpoint('a')
    const b = use(await udpEndpoint('b'))
    const { address, change, stats } = await relayTo(
      make,
      [a],
      { protocol: 'UDP', pool: { affinitySeconds: 3600 } },
      lasting,
    )
    const client = use(await udpClient())
    expect(await client.ask(address, '1')).toBe('a:1')
    await change([a, b])
    await a[Symbol.asyncDispose]()
    expect(await client.ask(address, '2')).toBe('b:2')
    expect(stats().dialFailures).toBeGreaterThanOrEqual(1)
  })

  test('drops datagrams while there are no endpoints and serves when there are', async () => {
    const a = use(await udpEndpoint('a'))
    const { address, change, stats } = await relayTo(make, [], { protocol: 'UDP' }, lasting)
    const client = use(await udpClient())
    client.send(address, 'lost')
    await eventually(() => stats().turnedAway['no-endpoint'] === 1)
    await change([a])
    expect(await client.ask(address, 'hello')).toBe('a:hello')
  })

  test('at the limit of flows the one that was quiet longest makes room', async () => {
    const { address, stats } = await relayTo(
      make,
      [use(await udpEndpoint('a'))],
      { protocol: 'UDP' },
      { ...lasting, maxUdpFlowsPerListener: 2 },
    )
    const [first, second, third] = [use(await udpClient()), use(await udpClient()), use(await udpClient())]
    for (const client of [first, second, first, third]) expect(await client.ask(address, 'x')).toBe('a:x')
    expect(stats()).toMatchObject({ connections: 3, active: 2 })
    // The first one was used after the second, so it is still there.
    expect(await first.ask(address, 'y')).toBe('a:y')
    expect(stats().connections).toBe(3)
    expect(await second.ask(address, 'z')).toBe('a:z')
    expect(stats()).toMatchObject({ connections: 4, active: 2 })
  })

  test('whoever is refused does not make a client leave that is served', async () => {
    const atMost = (connections: number) => ({ pool: { limits: { sharedAs: 'shop/web', connections } } })
    const endpoint = use(await udpEndpoint('a'))
    const { address, stats, relay, change } = await relayTo(
      make,
      [endpoint],
      { protocol: 'UDP', ...atMost(2) },
      { ...lasting, maxUdpFlowsPerListener: 2 },
    )
    const [first, second, third] = [use(await udpClient()), use(await udpClient()), use(await udpClient())]
    for (const client of [first, second]) expect(await client.ask(address, 'x')).toBe('a:x')
    third.send(address, 'x')
    await eventually(() => stats().turnedAway['max-connections'] === 1)
    expect(stats()).toMatchObject({ connections: 3, active: 2 })
    expect(relay.stats().descriptors.used).toBe(3)
    for (const client of [first, second]) expect(await client.ask(address, 'y')).toBe('a:y')
    expect(stats().connections).toBe(3)
    // When it is not refused, the one that was quiet longest makes room.
    await change([endpoint], atMost(3))
    expect(await third.ask(address, 'z')).toBe('a:z')
    expect(stats().active).toBe(2)
    expect(relay.stats().descriptors.used).toBe(3)
  })

  test('serves 200 clients at once and gives every socket back', async () => {
    const { address, stats, relay } = await relayTo(make, [use(await udpEndpoint('a'))], { protocol: 'UDP' }, lasting)
    const clients = await Promise.all(Array.from({ length: 200 }, () => udpClient()))
    for (const client of clients) expect(await client.ask(address, 'x')).toBe('a:x')
    expect(stats().active).toBe(200)
    await Promise.all(clients.map((client) => client[Symbol.asyncDispose]()))
    await relay.remove('web')
    expect(relay.stats().descriptors.used).toBe(0)
  })
}
