import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { silentLogger } from '../../core/logger.ts'
import type { RouteKey } from '../../core/route.ts'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { testEndpoint, testRoute, testView } from '../../core/testing/routes.ts'
import type { RouteTraffic } from '../../core/traffic.ts'
import { debugHandler, limitsOnPort } from '../../observe/http/debug/debug-handler.ts'
import { TrafficBook } from '../../observe/traffic/traffic-book.ts'
import { trafficPage } from '../../observe/traffic/traffic-page.ts'
import type { Host } from '../host/host.ts'
import { unwatched } from '../program.ts'
import type { Program } from '../program.ts'
import { topCommand } from './top-command.ts'

const never = new AbortController().signal
const [one, two] = [testEndpoint('10.64.0.1', 80), testEndpoint('10.64.0.2', 80)]
const web = testRoute('shop/web:http', { endpoints: [one, two] })
const db = testRoute('data/db')

/** A proxy whose first Service gets ten connections per second. */
async function given() {
  const clock = new FakeClock(Date.UTC(2026, 0, 1))
  const startedAt = clock.now()
  const source = {
    view: () => testView(web, db),
    traffic: async () => {
      const connections = 10 + (clock.now() - startedAt) / 100
      const endpoints = new Map([
        [one.address, { connections, open: 3 }],
        ['10.64.0.9:80', { open: 1 }],
      ])
      return new Map<RouteKey, RouteTraffic>([
        [web.key, { connections, open: 4, bytesIn: 1024, bytesOut: 1024, turnedAway: { 'no-endpoint': 2 }, endpoints }],
        [db.key, { connections: 3 }],
      ])
    },
    trafficNote: () => 'bytes: accounting is off',
  }
  const pages = [trafficPage(new TrafficBook({ sources: [source], clock, signal: never, log: silentLogger }), () => 3)]
  const handler = debugHandler({ pages, limits: limitsOnPort, clock, log: silentLogger })
  const server = createServer((request, response) => void handler(request, response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  let printed = ''
  const sleeping = {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    sleep: (ms: number) => clock.advance(ms),
  }
  const host = {
    platform: process.platform,
    env: {},
    clock: sleeping,
    process: { isRoot: false, streams: { stdout: {} } },
  }
  const program: Program = {
    ...unwatched,
    host: host as unknown as Host,
    out: (text) => void (printed += text),
    err: (text) => void (printed += text),
  }
  const top = async (...argv: readonly string[]) => {
    printed = ''
    await topCommand([`--server=http://127.0.0.1:${port}`, ...argv], program, never)
    return printed
  }
  return { top, program, printed: () => printed, port }
}

test('without a terminal it prints a table once, with rates', async () => {
  const { top } = await given()
  expect(await top()).toBe(
    [
      'SERVICE            CONNECTIONS*  NEW/S  OPEN  BYTES  BYTES/S  FAILED  SKEW  LAST USE',
      'shop/web:http TCP            30   10.0     4  2.0Ki       0B       2   2.0        0s',
      'data/db TCP                   3      0     -      -        -       -     -         -',
      '2 Service ports, read 0 s ago; bytes of all connections; bytes: accounting is off; /metrics has no series of endpoints: 4 Service ports and endpoints are more than --service-series-limit=3',
      '',
    ].join('\n'),
  )
})

test('shows endpoints, also those that are gone, if asked to', async () => {
  const { top } = await given()
  const lines = (await top('--endpoints', '--filter=web')).split('\n').map((line) => line.trimEnd().split(/ {2,}/))
  expect(lines.slice(2, 5).map(([, address]) => address)).toEqual([
    '10.64.0.1:80',
    '10.64.0.2:80',
    '10.64.0.9:80 (gone)',
  ])
})

test('sorts, and chooses by namespace', async () => {
  const { top } = await given()
  const names = async (...argv: readonly string[]) => (await top(...argv)).match(/^\w+\/\S+/gm)
  expect(await names('--sort=name')).toEqual(['data/db', 'shop/web:http'])
  expect(await names('-n', 'data')).toEqual(['data/db'])
})

test('prints JSON for programs', async () => {
  const { top } = await given()
  const table = JSON.parse(await top('-o', 'json', '--once')) as { readonly services: readonly unknown[] }
  expect(table.services[0]).toMatchObject({ service: 'shop/web:http', connections: 30, connectionRate: 10 })
})

test('on a terminal it draws until it is told to end, and leaves the screen as it was', async () => {
  const { program, printed, port } = await given()
  const stop = new AbortController()
  const live: Program = { ...program, stdout: { columns: 60, hasColour: false } }
  let looks = 0
  const counting: Program = {
    ...live,
    out: (text) => {
      live.out(text)
      if (text.includes('SERVICE') && ++looks === 3) stop.abort()
    },
  }
  expect(await topCommand([`--server=http://127.0.0.1:${port}`], counting, stop.signal)).toBe(0)
  const text = printed()
  expect(text.startsWith('\u001B[?1049h')).toBe(true)
  expect(text.endsWith('\u001B[?1049l')).toBe(true)
  expect(text).toContain('waiting for the proxy to read its counters')
  const rows = text.split('\r\n').filter((line) => line.startsWith('shop/web:http'))
  expect(rows).toHaveLength(3)
  // The last characters clear the rest of the line.
  expect(rows.every(({ length }) => length <= 60 + '\u001B[K'.length)).toBe(true)
})

test.each([
  ['--sort=size', 'size'],
  ['--interval=10ms', '--interval must be at least 1s'],
  ['web', '--filter'],
])('%s is refused with the way out', async (flag, message) => {
  await expect((await given()).top(flag)).rejects.toThrow(message)
})
