import { afterAll, beforeAll, expect, test } from 'vitest'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { failureOf, get, sayOverUdp, whoAnswers, whoTakesTurns } from './testing/clients.ts'
import { DemoProcess } from './testing/demo-process.ts'

let folder: TemporaryFolder
let demo: DemoProcess

beforeAll(async () => {
  folder = await TemporaryFolder.make()
  demo = await DemoProcess.start(folder)
})

afterAll(async () => {
  await demo[Symbol.asyncDispose]()
  await folder[Symbol.asyncDispose]()
})

test('the demo prints a table: Service, how to try it, endpoints', () => {
  const table = demo.process.stdout.split('\n').filter((line) => /^(SERVICE|shop\/)/.test(line))
  const [header = '', ...rows] = table.map((line) => line.split(/ {3,}/))
  expect(header).toEqual(['SERVICE', 'TRY', 'ENDPOINTS'])
  const http = expect.stringMatching(/^curl http:\/\/127\.0\.0\.1:\d+$/)
  const endpoint = String.raw`127\.0\.0\.1:\d+`
  expect(rows).toEqual([
    ['shop/api:http', http, expect.stringMatching(`^${endpoint}, ${endpoint} \\(each client keeps one\\)$`)],
    ['shop/closed:http', http, 'none: connections are reset'],
    [
      'shop/echo:echo',
      expect.stringMatching(/^echo hi \| nc -u -w1 127\.0\.0\.1 \d+$/),
      expect.stringMatching(`^${endpoint}, ${endpoint}$`),
    ],
    ['shop/web:http', http, expect.stringMatching(`^${endpoint}, ${endpoint}, ${endpoint}$`)],
  ])
})

test('requests to a Service are balanced over all its replicas', async () => {
  expect(await whoTakesTurns(demo.service('shop/web:http').url, 6)).toEqual(['web-1', 'web-2', 'web-3'])
})

test('a request arrives as it was sent, and so does the answer', async () => {
  const { status, headers, body } = await get(`${demo.service('shop/web:http').url}/some/path?and=query`)
  expect([status, headers['content-type']]).toEqual([200, 'text/plain'])
  expect(body).toMatch(/^web-\d answers GET \/some\/path\?and=query\n$/)
})

test('a Service with session affinity keeps each client at one replica', async () => {
  const { url } = demo.service('shop/api:http')
  expect(await whoTakesTurns(url, 6)).toEqual([await whoAnswers(url)])
})

test('the UDP Service echoes', async () => {
  const answer = await sayOverUdp('ahoy', demo.service('shop/echo:echo'))
  expect(answer).toMatch(/^echo-[12] heard ahoy$/)
})

test('the metrics tell what each Service carried', async () => {
  await whoAnswers(demo.service('shop/web:http').url)
  const [, url = ''] = /Metrics: curl (\S+)/.exec(demo.process.stdout) ?? []
  const { body } = await get(url)
  const labels = String.raw`ip_family="IPv4",namespace="shop",port="http",protocol="TCP",service="web"`
  const web = labels.split(',').map((label) => `(?=[^}]*${label})`)
  expect(body).toMatch(new RegExp(`^fairlead_service_connections_total{${web.join('')}[^}]*} [1-9]`, 'm'))
  expect(body).toMatch(new RegExp(`^fairlead_service_bytes_total{${web.join('')}[^}]*} [1-9]`, 'm'))
})

test('a Service without endpoints turns its clients away', async () => {
  expect(await failureOf(demo.service('shop/closed:http').url)).toBe('ECONNRESET')
})
