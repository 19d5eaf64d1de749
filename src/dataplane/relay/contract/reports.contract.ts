import { once } from 'node:events'
import { expect, test } from 'vitest'
import { hostPort, type Cidr } from '../../../net/ip.ts'
import type { ConnectionReport } from '../connection-report.ts'
import type { RelaySettings, SocketAddress } from '../relay.ts'
import { ask, eventually, open, udpClient } from '../testing/clients.ts'
import { echoEndpoint, namedEndpoint, refusingAddress, silentEndpoint, udpEndpoint } from '../testing/endpoints.ts'
import { relayTo, use, type Endpoints, type MakeRelay, type SpecParts } from '../testing/relay-under-test.ts'

const any = expect.any(Number) as number

export function reportsContract(make: MakeRelay): void {
  test('a connection is reported when it has ended: who, where to, when, and how many bytes', async () => {
    const a = use(await echoEndpoint())
    const { address, reports } = await reporting([a])
    const before = Date.now()
    const client = open(address)
    await once(client, 'connect')
    const from = hostPort('127.0.0.1', client.localPort ?? 0)
    client.end('hello')
    await once(client, 'data')
    client.destroy()
    await eventually(() => reports.length === 1)
    const endpoint = nameOf(a)
    expect(reports).toEqual([
      {
        protocol: 'TCP',
        id: expect.any(String) as string,
        hasEnded: true,
        service: 'shop/web:http',
        client: from,
        local: nameOf({ address }),
        startMs: any,
        endMs: any,
        result: 'connected',
        attempts: [{ endpoint, isSticky: false, endpoints: 1, timeoutMs: 250, startMs: any, endMs: any }],
        copying: expect.objectContaining({ startMs: any, bytesIn: 5, bytesOut: 5 }) as unknown,
      },
    ])
    const [report] = tcp(reports)
    // The native engine looks at the wall clock once a second.
    expect(report?.startMs).toBeGreaterThan(before - 2_000)
    expect(report?.endMs).toBeLessThan(Date.now() + 2_000)
    expect(inOrder([report?.startMs, report?.attempts[0]?.endMs, report?.copying?.startMs, report?.endMs])).toBe(true)
  })

  test('one connection in so many is reported, however many threads there are', async () => {
    const { address, reports, stats } = await reporting([use(await namedEndpoint('a'))], {}, { reportOneIn: 10 })
    for (let round = 0; round < 100; round++) expect(await ask(address)).toBe('a')
    await eventually(() => stats().active === 0)
    await expect.poll(() => reports.length).toBeGreaterThanOrEqual(7)
    expect(reports.length).toBeLessThanOrEqual(13)
  })

  test('none is reported if none is wanted, not even one that failed', async () => {
    const dead = { address: await refusingAddress() }
    const { address, reports, relay } = await reporting([dead], {}, { reportOneIn: 0 })
    expect(await ask(address)).toBe('ECONNRESET')
    await relay[Symbol.asyncDispose]()
    expect(reports).toEqual([])
  })

  test('a connection that failed is reported with each attempt, although it is not one of the sample', async () => {
    const silent = use(await silentEndpoint())
    const dead = { address: await refusingAddress() }
    const settings = { reportOneIn: 1_000_000, dialTimeoutsMs: [300, 301, 302, 303] }
    const { address, reports } = await reporting([silent, dead], {}, settings)
    expect(await ask(address)).toBe('ECONNRESET')
    await eventually(() => reports.length === 1)
    expect(reports[0]).toMatchObject({ result: 'unreachable', hasEnded: true })
    const attempts = tcp(reports)[0]?.attempts ?? []
    expect(attempts.map(({ timeoutMs }) => timeoutMs)).toEqual([300, 301, 302, 303])
    expect(new Set(attempts.map(({ endpoint, error }) => `${endpoint} ${error}`))).toEqual(
      new Set([`${nameOf(silent)} ETIMEDOUT`, `${nameOf(dead)} ECONNREFUSED`]),
    )
    expect(tcp(reports)[0]?.copying).toBeUndefined()
  })

  test('a connection that found an endpoint in the second attempt is reported as well', async () => {
    const dead = { address: await refusingAddress() }
    const a = use(await namedEndpoint('a'))
    const { address, reports } = await reporting([dead, a], {}, { reportOneIn: 1_000_000 })
    for (let round = 0; round < 2; round++) expect(await ask(address)).toBe('a')
    await eventually(() => reports.length === 1)
    expect(tcp(reports)[0]).toMatchObject({
      result: 'connected',
      attempts: [{ endpoint: nameOf(dead), error: 'ECONNREFUSED' }, { endpoint: nameOf(a) }],
      copying: { bytesOut: 1 },
    })
  })

  test('of failures that come in masses only some are reported', async () => {
    const settings = { reportOneIn: 1_000_000, failureReportsPerSecond: 2 }
    const { address, reports, stats } = await reporting([], {}, settings)
    const before = performance.now()
    for (let round = 0; round < 50; round++) expect(await ask(address)).toBe('ECONNRESET')
    await eventually(() => stats().turnedAway['no-endpoint'] === 50 && reports.length > 0)
    const seconds = Math.ceil((performance.now() - before) / 1000) + 1
    expect(reports.length).toBeLessThanOrEqual(2 * seconds)
    expect(reports[0]).toMatchObject({ result: 'no-endpoint', attempts: [], service: 'shop/web:http' })
  })

  test('clients that may not come are reported as such', async () => {
    const range: Cidr = { family: 'ipv4', network: '10.0.0.0', prefixLength: 8 }
    const { address, reports } = await reporting([use(await namedEndpoint('a'))], { allowedSources: [range] })
    expect(await ask(address)).toBe('ECONNRESET')
    await eventually(() => reports.length === 1)
    expect(reports[0]).toMatchObject({ result: 'source-not-allowed', attempts: [], hasEnded: true })
  })

  test('affinity shows in the report', async () => {
    const { address, reports } = await reporting([use(await namedEndpoint('a'))], { pool: { affinitySeconds: 3600 } })
    for (const round of [1, 2]) {
      expect(await ask(address)).toBe('a')
      // Two workers may tell of two connections in any order.
      await eventually(() => reports.length === round)
    }
    expect(tcp(reports).map(({ attempts }) => attempts[0]?.isSticky)).toEqual([false, true])
  })

  test('a connection that is open for long is reported meanwhile, under one id', async () => {
    const { address, reports } = await reporting([use(await echoEndpoint())], {}, { reportEveryMs: 20 })
    const client = open(address)
    client.write('hello')
    await once(client, 'data')
    await eventually(() => reports.length >= 3)
    client.destroy()
    await eventually(() => reports.at(-1)?.hasEnded === true)
    expect(new Set(reports.map(({ id }) => id)).size).toBe(1)
    expect(reports.slice(0, -1).every(({ hasEnded }) => !hasEnded)).toBe(true)
    expect(tcp(reports)[1]).toMatchObject({ result: 'connected', copying: { bytesIn: 5, bytesOut: 5 } })
    const count = reports.length
    expect(await ask(address, 'x')).toBe('x')
    await eventually(() => reports.length > count)
    expect(new Set(reports.map(({ id }) => id)).size).toBe(2)
  })

  test('a connection that is cut says why', async () => {
    const a = use(await echoEndpoint())
    const { address, reports, relay } = await reporting([a], {}, { drainTimeoutMs: 20 })
    const reset = open(address)
    reset.write('hello')
    await once(reset, 'data')
    reset.resetAndDestroy()
    await eventually(() => reports.length === 1)
    expect(tcp(reports)[0]?.copying?.error).toBe('ECONNRESET')
    const drained = open(address)
    drained.on('error', () => {})
    drained.write('hello')
    await once(drained, 'data')
    await relay.remove('web')
    await eventually(() => reports.length === 2)
    expect(tcp(reports)[1]?.copying?.error).toBe('its endpoint or its Service is gone')
  })

  test('a UDP client is reported when it has gone idle', async () => {
    const a = use(await udpEndpoint('a'))
    const { address, reports } = await reporting([a], { protocol: 'UDP' }, { udpIdleMs: 30 })
    const client = use(await udpClient())
    expect(await client.ask(address, 'hello')).toBe('a:hello')
    await eventually(() => reports.length >= 1)
    expect(reports[0]).toMatchObject({
      protocol: 'UDP',
      hasEnded: true,
      service: 'shop/web:http',
      local: nameOf({ address }),
      endpoint: nameOf(a),
      endReason: 'idle',
      datagramsIn: any,
      bytesOut: any,
    })
  })

  async function reporting(endpoints: Endpoints, part: SpecParts = {}, settings: Partial<RelaySettings> = {}) {
    const reports: ConnectionReport[] = []
    const onConnection = (report: ConnectionReport) => reports.push(report)
    const all = { reportOneIn: 1, ...settings }
    const under = await relayTo((chosen) => make(chosen, { onConnection }), endpoints, part, all)
    return { ...under, reports }
  }
}

function tcp(reports: readonly ConnectionReport[]) {
  return reports.flatMap((report) => (report.protocol === 'TCP' ? [report] : []))
}

function nameOf({ address: { ip, port } }: { readonly address: SocketAddress }): string {
  return hostPort(ip, port)
}

function inOrder(numbers: readonly (number | undefined)[]): boolean {
  return numbers.every((number, index) => index === 0 || (number ?? 0) >= (numbers[index - 1] ?? 0) - 1)
}
