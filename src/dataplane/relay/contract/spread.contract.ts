/** Who gets which connection, by algorithm and weight. What depends on the client alone is the same in every engine. */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { chiSquareOf, mostByChance } from '../../../core/balance/testing/chi-square.ts'
import { hostPort } from '../../../net/ip.ts'
import { Spread, type Candidate } from '../node/spread.ts'
import type { Balancing, SocketAddress } from '../relay.ts'
import { ask, askTimes, open, udpClient } from '../testing/clients.ts'
import { echoEndpoint, namedEndpoint, refusingAddress, udpEndpoint } from '../testing/endpoints.ts'
import { isWholeLoopbackLocal } from '../testing/own-loopback.ts'
import { relayTo, use, type MakeRelay } from '../testing/relay-under-test.ts'

export function spreadContract(make: MakeRelay): void {
  test('by turn, weights of 1:3:6 are exact', async () => {
    const { address } = await relayTo(make, await weighted(1, 3, 6))
    expect(await askTimes(address, 50)).toEqual({ 'weight 1': 5, 'weight 3': 15, 'weight 6': 30 })
  })

  test('by least connections, open connections are shared by weight', async () => {
    const echoes = [use(await echoEndpoint()), use(await echoEndpoint()), use(await echoEndpoint())]
    const endpoints = echoes.map(({ address }, index) => ({ address: { ...address, weight: [1, 3, 6][index] ?? 0 } }))
    const { address } = await relayTo(make, endpoints, { pool: { balancing: 'least-connections' } })
    const clients = Array.from({ length: 30 }, () => open(address))
    for (const client of clients) {
      client.write('hello')
      await once(client, 'data')
    }
    expect(echoes.map((echo) => echo.open)).toEqual([3, 9, 18])
    for (const client of clients) client.destroy()
  })

  test('by random, weights of 1:3:6 are likely', async () => {
    const { address } = await relayTo(make, await weighted(1, 3, 6), { pool: { balancing: 'random' } })
    const counts = await askTimes(address, 500)
    const answered = [1, 3, 6].map((weight) => counts[`weight ${weight}`] ?? 0)
    expect(chiSquareOf(answered, [1, 3, 6])).toBeLessThan(mostByChance(3))
  })

  test('other weights count for the next connection', async () => {
    const endpoints = await weighted(1, 3)
    const { address, change } = await relayTo(make, endpoints)
    expect(await askTimes(address, 8)).toEqual({ 'weight 1': 2, 'weight 3': 6 })
    await change(endpoints.map((endpoint) => ({ address: { ...endpoint.address, weight: 1 } })))
    expect(await askTimes(address, 8)).toEqual({ 'weight 1': 4, 'weight 3': 4 })
  })

  test('by turn, shares are right at once when weights of another size take over', async () => {
    const endpoints = await weighted(950, 50)
    const { address, change } = await relayTo(make, endpoints)
    // It has paid for all the others then.
    while ((await ask(address)) !== 'weight 50');
    await change(
      endpoints.map((endpoint, index) => ({ address: { ...endpoint.address, weight: [19, 1][index] ?? 0 } })),
    )
    expect(await askTimes(address, 20)).toEqual({ 'weight 950': 19, 'weight 50': 1 })
  })

  test('by turn, an endpoint that is back begins as a new one does', async () => {
    const echo = use(await echoEndpoint())
    const heavy = { address: { ...use(await echoEndpoint()).address, weight: 950 } }
    const light = (weight: number) => ({ address: { ...echo.address, weight } })
    const { address, change } = await relayTo(make, [heavy, light(50)])
    const clients: Socket[] = []
    while (echo.open === 0) {
      const client = open(address).on('error', () => {})
      clients.push(client)
      client.write('hello')
      await once(client, 'data')
    }
    await change([heavy])
    const lighter = { address: { ...heavy.address, weight: 3 } }
    await change([lighter])
    await change([lighter, light(1)])
    for (let round = 0; round < 8; round++) expect(await ask(address, 'x')).toBe('x')
    expect(echo.arrivals).toBe(3)
    for (const client of clients) client.destroy()
  })

  for (const balancing of ['source-hash', 'maglev'] as const) {
    test.runIf(isWholeLoopbackLocal)(`by ${balancing}, every engine sends a client to the same endpoint`, async () => {
      const endpoints = await weighted(1, 3, 6)
      const { address } = await relayTo(make, endpoints, { pool: { balancing } })
      for (let client = 1; client <= 40; client++) {
        const { from, answer } = await askFrom(address, `127.0.3.${client}`)
        expect(answer).toBe(nameOf(chosenBy(balancing, endpoints, from), endpoints))
      }
    })

    test(`by ${balancing}, every engine sends a client to the same endpoint (IPv6)`, async () => {
      const endpoints = await weightedAt('::1', 1, 2, 3)
      const { address } = await relayTo(make, endpoints, { address: { ip: '::1', port: 0 }, pool: { balancing } })
      for (let client = 1; client <= 10; client++) {
        const { from, answer } = await askFrom(address, '::1')
        expect(answer).toBe(nameOf(chosenBy(balancing, endpoints, from), endpoints))
      }
    })

    test.runIf(isWholeLoopbackLocal)(
      `by ${balancing}, the clients of an endpoint that refuses go where every engine sends them`,
      async () => {
        const dead = { address: { ...(await refusingAddress()), weight: 3 } }
        const endpoints = [...(await weighted(1, 2)), dead]
        const { address, stats } = await relayTo(make, endpoints, { pool: { balancing } })
        for (let client = 1; client <= 20; client++) {
          const { from, answer } = await askFrom(address, `127.0.3.${client}`)
          expect(answer).toBe(nameOf(chosenBy(balancing, endpoints, from, dead.address), endpoints))
        }
        expect(stats()).toMatchObject({ dialFailures: 1, turnedAway: { unreachable: 0 } })
      },
    )

    test(`by ${balancing}, datagrams of a client go where its connections would`, async () => {
      const endpoints = [use(await udpEndpoint('a')), use(await udpEndpoint('b')), use(await udpEndpoint('c'))]
      const { address } = await relayTo(make, endpoints, { protocol: 'UDP', pool: { balancing } })
      for (let client = 0; client < 10; client++) {
        const sender = use(await udpClient())
        const chosen = endpoints.findIndex(
          (endpoint) => endpoint.address.port === chosenBy(balancing, endpoints, sender.address).port,
        )
        expect(await sender.ask(address, 'hello')).toBe(`${'abc'.at(chosen)}:hello`)
      }
    })
  }

  test('a client with affinity stays where its algorithm has sent it first', async () => {
    const endpoints = await weighted(1, 3, 6)
    const { address } = await relayTo(make, endpoints, { pool: { balancing: 'maglev', affinitySeconds: 60 } })
    const { from, answer } = await askFrom(address, '127.0.0.1')
    expect(answer).toBe(nameOf(chosenBy('maglev', endpoints, from), endpoints))
    expect(await askTimes(address, 10)).toEqual({ [answer]: 10 })
  })
}

type Weighted = { readonly address: SocketAddress & { readonly weight?: number } }

function weighted(...weights: readonly number[]): Promise<readonly Weighted[]> {
  return weightedAt('127.0.0.1', ...weights)
}

async function weightedAt(ip: string, ...weights: readonly number[]): Promise<readonly Weighted[]> {
  const endpoints = weights.map(async (weight) => {
    const { address } = use(await namedEndpoint(`weight ${weight}`, { ip }))
    return { address: { ...address, weight } }
  })
  return Promise.all(endpoints)
}

async function askFrom(address: SocketAddress, ip: string): Promise<{ from: SocketAddress; answer: string }> {
  const client = open(address, ip)
  await once(client, 'connect')
  const from = { ip, port: client.localPort ?? 0 }
  const chunks: Buffer[] = []
  client.on('data', (chunk: Buffer) => chunks.push(chunk))
  client.end()
  await once(client, 'close')
  return { from, answer: Buffer.concat(chunks).toString() }
}

/** The rule, without any engine. */
function chosenBy(
  balancing: Balancing,
  endpoints: readonly Weighted[],
  client: SocketAddress,
  dead?: SocketAddress,
): SocketAddress {
  const candidates = endpoints.map(({ address: { weight = 1, ...address } }) => ({
    name: hostPort(address.ip, address.port),
    weight,
    open: 0,
    credit: 0,
    address,
  }))
  const spread = new Spread<Candidate & { readonly address: SocketAddress }>(Math.random)
  spread.replace(candidates, balancing)
  const chosen = spread.next(client, ({ address }) => address.port !== dead?.port)
  if (chosen === undefined) throw new Error('there are endpoints')
  return chosen.address
}

function nameOf({ port }: SocketAddress, endpoints: readonly Weighted[]): string {
  return `weight ${endpoints.find(({ address }) => address.port === port)?.address.weight}`
}
