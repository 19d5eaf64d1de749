import { once } from 'node:events'
import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { hostPort } from '../../../net/ip.ts'
import type { SocketAddress } from '../relay.ts'
import { ask, eventually, open, udpClient } from '../testing/clients.ts'
import { echoEndpoint, namedEndpoint, refusingAddress, silentEndpoint, udpEndpoint } from '../testing/endpoints.ts'
import { listenerSpec, relayTo, use, type MakeRelay } from '../testing/relay-under-test.ts'

const noFailures = { refused: 0, timeout: 0, unreachable: 0, other: 0 }

export function countersContract(make: MakeRelay): void {
  test('each endpoint has its own connections, bytes and time of last use', async () => {
    const [a, b] = [use(await echoEndpoint()), use(await echoEndpoint())]
    const before = Date.now()
    const { relay, address, stats } = await relayTo(make, [a, b])
    for (const text of ['one', 'two', 'three', 'four']) expect(await ask(address, text)).toBe(text)
    const kept = await greeted(address)
    await eventually(() => stats().active === 1)
    const counts = relay.endpointCounts('web')
    expect([...counts.keys()].toSorted()).toEqual([a, b].map(nameOf).toSorted())
    const all = [...counts.values()]
    expect(new Set(all.map(({ connections }) => connections))).toEqual(new Set([2, 3]))
    expect(new Set(all.map(({ active }) => active))).toEqual(new Set([0, 1]))
    expect(sum(all.map(({ bytesIn }) => bytesIn))).toBe('onetwothreefourhello'.length)
    expect(all.map(({ bytesIn, bytesOut }) => bytesOut - bytesIn)).toEqual([0, 0])
    for (const { lastUsedMs = 0, dialFailures } of all) {
      // The native engine looks at the wall clock once a second.
      expect(lastUsedMs).toBeGreaterThan(before - 2_000)
      expect(lastUsedMs).toBeLessThan(Date.now() + 2_000)
      expect(dialFailures).toEqual(noFailures)
    }
    kept.destroy()
    await eventually(() => stats().active === 0)
    expect(sum([...relay.endpointCounts('web').values()].map(({ active }) => active))).toBe(0)
  })

  test('an endpoint that was never used has zeros, and no time', async () => {
    const { relay } = await relayTo(make, [use(await namedEndpoint('a'))])
    expect([...relay.endpointCounts('web').values()]).toEqual([
      { connections: 0, active: 0, bytesIn: 0, bytesOut: 0, seconds: 0, dialFailures: noFailures },
    ])
    expect(relay.endpointCounts('no such pool').size).toBe(0)
  })

  test('failed dials are counted by the endpoint and by the reason', async () => {
    const silent = use(await silentEndpoint())
    const dead = { address: await refusingAddress() }
    const settings = { dialTimeoutsMs: [300, 300, 300, 300] }
    const { relay, address, stats } = await relayTo(make, [silent, dead], {}, settings)
    expect(await ask(address)).toBe('ECONNRESET')
    const counts = relay.endpointCounts('web')
    expect(counts.get(nameOf(silent))?.dialFailures).toEqual({ ...noFailures, timeout: 2 })
    expect(counts.get(nameOf(dead))?.dialFailures).toEqual({ ...noFailures, refused: 2 })
    expect(stats().dialFailures).toBe(4)
    const { dials, dialFailures, undialled, dialled } = relay.totals()
    expect({ dials, dialFailures }).toEqual({ dials: 4, dialFailures: { ...noFailures, timeout: 2, refused: 2 } })
    expect(sum(undialled.counts)).toBe(4)
    expect(undialled.seconds).toBeGreaterThan(0.5)
    expect(sum(dialled.counts)).toBe(0)
  })

  test('an endpoint that fails is stepped over while others answer, and that is counted once', async () => {
    const dead = { address: await refusingAddress() }
    const { relay, address } = await relayTo(make, [use(await echoEndpoint()), dead])
    for (let round = 0; round < 6; round++) expect(await ask(address, 'x')).toBe('x')
    const { dials, avoided } = relay.totals()
    expect({ dials, avoided }).toEqual({ dials: 7, avoided: 1 })
  })

  test('an endpoint that has left is counted until its last connection ends, and what the listener has seen stays', async () => {
    const [a, b] = [use(await echoEndpoint()), use(await echoEndpoint())]
    const { relay, address, change, stats } = await relayTo(make, [a])
    const kept = await greeted(address)
    await change([b])
    kept.write('more')
    await once(kept, 'data')
    const carried = { bytesIn: 'hellomore'.length, bytesOut: 'hellomore'.length }
    expect(relay.endpointCounts('web').get(nameOf(a))).toMatchObject({ connections: 1, active: 1, ...carried })
    kept.destroy()
    await eventually(() => !relay.endpointCounts('web').has(nameOf(a)))
    expect([...relay.endpointCounts('web').keys()]).toEqual([nameOf(b)])
    expect(stats()).toMatchObject({ connections: 1, active: 0, ...carried })
  })

  test('an endpoint that comes back while a connection is open has that connection', async () => {
    const [a, b] = [use(await echoEndpoint()), use(await echoEndpoint())]
    const { relay, address, change } = await relayTo(make, [a])
    const kept = await greeted(address)
    await change([b])
    await change([a, b])
    expect(relay.endpointCounts('web').get(nameOf(a))).toMatchObject({ connections: 1, active: 1 })
    kept.destroy()
    await eventually(() => relay.endpointCounts('web').get(nameOf(a))?.active === 0)
    expect(relay.endpointCounts('web').get(nameOf(a))).toMatchObject({ connections: 1 })
  })

  test('endpoints come and go 2,000 times, and those that are there have their own numbers', async () => {
    const [a, b] = [use(await echoEndpoint()), use(await echoEndpoint())]
    const { relay, address, change, stats } = await relayTo(make, [a])
    for (let round = 0; round < 10; round++) {
      for (let turn = 0; turn < 100; turn++) {
        await change([b])
        await change([a])
      }
      expect(await ask(address, 'x')).toBe('x')
    }
    await change([a, b])
    await eventually(() => stats().active === 0)
    expect(await ask(address, 'yy')).toBe('yy')
    expect(await ask(address, 'yy')).toBe('yy')
    await eventually(() => stats().active === 0)
    const counts = relay.endpointCounts('web')
    expect([...counts.keys()].toSorted()).toEqual([a, b].map(nameOf).toSorted())
    expect(counts.get(nameOf(b))).toMatchObject({ connections: 1, active: 0, bytesIn: 2, bytesOut: 2 })
    expect(stats()).toMatchObject({ connections: 12 })
  })

  test('listeners of one pool add to the same endpoints; pools do not', async () => {
    const a = use(await namedEndpoint('a'))
    const { relay, address, stats } = await relayTo(make, [a])
    const [shared, other] = [
      await relay.set(listenerSpec([a], { id: 'node-port' })),
      await relay.set(listenerSpec([a], { id: 'other', pool: { id: 'other' } })),
    ]
    if (!shared.ok || !other.ok) throw new Error('a listener could not be opened')
    for (const at of [address, shared.address, other.address]) expect(await ask(at)).toBe('a')
    await eventually(() => stats().active === 0)
    await expect
      .poll(() => ['web', 'other'].map((pool) => relay.endpointCounts(pool).get(nameOf(a))))
      .toMatchObject([
        { connections: 2, active: 0 },
        { connections: 1, active: 0 },
      ])
    await relay.remove('other')
    expect(relay.endpointCounts('other').size).toBe(0)
    expect(relay.endpointCounts('web').size).toBe(1)
  })

  test('how long connections and dials took is counted in buckets, each connection once', async () => {
    const { relay, address, stats } = await relayTo(make, [use(await namedEndpoint('a'))])
    for (let round = 0; round < 5; round++) await ask(address)
    await eventually(() => stats().active === 0)
    const { connections, dialled, undialled } = relay.totals()
    expect([connections, dialled, undialled].map(({ counts }) => sum(counts))).toEqual([5, 5, 0])
    for (const { bounds, counts } of [connections, dialled]) expect(counts).toHaveLength(bounds.length + 1)
    expect(connections.seconds).toBeCloseTo(stats().seconds, 6)
  })

  test('totals do not fall when a listener is removed', async () => {
    const { relay, address, stats } = await relayTo(make, [use(await echoEndpoint())])
    expect(await ask(address, 'hello')).toBe('hello')
    await eventually(() => stats().active === 0)
    const kept = await greeted(address)
    const before = relay.totals().carried.TCP
    expect(before).toMatchObject({ connections: 2, active: 1, bytesIn: 10, bytesOut: 10 })
    await relay.remove('web')
    expect(relay.totals().carried.TCP).toMatchObject({ connections: 2, active: 1, bytesIn: 10, bytesOut: 10 })
    kept.destroy()
    await eventually(() => relay.totals().carried.TCP.active === 0 && relay.stats().draining === 0)
    expect(relay.totals().carried.TCP).toMatchObject({ connections: 2, bytesIn: 10, bytesOut: 10 })
    expect(relay.totals().carried.UDP).toMatchObject({ connections: 0, active: 0 })
  })

  test('UDP clients are counted by their endpoint', async () => {
    const a = use(await udpEndpoint('a'))
    const { relay, address } = await relayTo(make, [a], { protocol: 'UDP' }, { udpIdleMs: 600_000 })
    const client = use(await udpClient())
    expect(await client.ask(address, 'hello')).toBe('a:hello')
    const counts = relay.endpointCounts('web').get(nameOf(a))
    expect(counts).toMatchObject({ connections: 1, active: 1 })
    expect(counts?.bytesIn).toBeGreaterThanOrEqual('hello'.length)
    expect(counts?.bytesOut).toBeGreaterThanOrEqual('a:hello'.length)
    expect(counts?.lastUsedMs).toBeGreaterThan(0)
    expect(relay.totals().carried.UDP).toMatchObject({ connections: 1, active: 1 })
    expect(relay.totals().dials).toBe(1)
  })
}

async function greeted(address: SocketAddress): Promise<Socket> {
  const client = open(address)
  client.write('hello')
  await once(client, 'data')
  return client
}

function nameOf({ address: { ip, port } }: { readonly address: SocketAddress }): string {
  return hostPort(ip, port)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
