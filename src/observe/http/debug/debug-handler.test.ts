import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { FakeClock } from '../../../core/testing/fake-clock.ts'
import { RecordingLogger } from '../../../core/testing/recording-logger.ts'
import { rawRequest } from '../testing/raw-request.ts'
import { debugHandler, limitsOnPort } from './debug-handler.ts'
import type { DebugLimits } from './debug-handler.ts'
import type { DebugPage } from './debug-page.ts'
import { PacedReading } from '../../inspection/paced-reading.ts'
import { rulesPage } from '../../inspection/rules-page.ts'
import type { InspectedFamily } from '../../inspection/inspected-family.ts'

const hello: DebugPage = {
  path: '/debug/hello',
  about: 'says hello',
  answer: async ({ query }) => ({ kind: 'json', value: { hello: query.get('who') } }),
}
const below: DebugPage = {
  path: '/debug/below/',
  about: 'a page',
  answer: async ({ rest }) => ({ kind: 'json', value: rest }),
}

test('a page answers in JSON that people can read, and in short for programs', async () => {
  const { get } = await serve([hello])
  expect(await get('/debug/hello?who=you')).toMatchObject({
    status: 200,
    headers: { 'content-type': 'application/json', server: 'fairlead' },
    body: '{\n  "hello": "you"\n}\n',
  })
  expect((await get('/debug/hello?who=you&pretty=false')).body).toBe('{"hello":"you"}\n')
})

test('the list of pages says what there is', async () => {
  const { get } = await serve([hello, below])
  expect(JSON.parse((await get('/debug/')).body)).toEqual({
    pages: { '/debug/hello': 'says hello', '/debug/below/': 'a page' },
  })
})

test('a page for a folder gets the rest of the path, decoded; others match exactly', async () => {
  const { get } = await serve([hello, below])
  expect(JSON.parse((await get('/debug/below/a%2Fb/c')).body)).toEqual(['a/b', 'c'])
  for (const path of ['/debug/hello/', '/debug/hello/x', '/debug/below', '/debug/below/%', '/debug/nothing'])
    expect(await get(path)).toMatchObject({ status: 404, body: expect.stringContaining('/debug/ lists') as string })
})

test('what a page refuses is a sentence', async () => {
  const page: DebugPage = {
    path: '/debug/no',
    about: 'a page',
    answer: async () => ({ kind: 'refused', status: 404, message: 'there is no Service a/b' }),
  }
  const { get } = await serve([page])
  expect(await get('/debug/no')).toMatchObject({ status: 404, body: 'there is no Service a/b\n' })
})

test('only GET is answered', async () => {
  const { get } = await serve([hello])
  expect(await get('/debug/hello', 'POST')).toMatchObject({ status: 405, headers: { allow: 'GET' } })
})

test('a page that throws is a 500 with a log line', async () => {
  const page: DebugPage = { path: '/debug/bad', about: 'a page', answer: () => Promise.reject(new Error('broken')) }
  const { get, log } = await serve([page])
  expect(await get('/debug/bad')).toMatchObject({ status: 500, body: 'internal error, see the log\n' })
  expect(log.at('error').map(({ message }) => message)).toEqual(['cannot answer a question'])
})

test('so many at once, then so many each second', async () => {
  const { get, clock } = await serve([hello], { rate: { burst: 2, perSecond: 0.5 } })
  const answers = [await get('/debug/hello'), await get('/debug/hello'), await get('/debug/hello')]
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 429])
  expect(answers[2]).toMatchObject({ headers: { 'retry-after': '2' }, body: 'too many questions: ask again in 2 s\n' })
  await clock.advance(2000)
  expect((await get('/debug/hello')).status).toBe(200)
  expect((await get('/debug/hello')).status).toBe(429)
})

test('questions that make much work are answered seldom', async () => {
  let busyMs = 0
  const heavy: DebugPage = {
    path: '/debug/heavy',
    about: '',
    async answer({ query }) {
      busyMs += Number(query.get('ms'))
      return { kind: 'text', text: 'done' }
    },
  }
  const limits = { work: { burst: 1000, perSecond: 200 } }
  const { get, clock } = await serve([heavy, hello], limits, () => busyMs)
  expect((await get('/debug/heavy?ms=10')).status).toBe(200)
  expect((await get('/debug/heavy?ms=1100')).status).toBe(200)
  expect(await get('/debug/hello')).toMatchObject({ status: 429, headers: { 'retry-after': '1' } })
  await clock.advance(1000)
  expect((await get('/debug/heavy?ms=100000')).status).toBe(200)
  expect(await get('/debug/hello')).toMatchObject({ status: 429, headers: { 'retry-after': '6' } })
  await clock.advance(6000)
  expect((await get('/debug/hello')).status).toBe(200)
})

test('a slow page does not keep others waiting, and its own questions have an end', async () => {
  const signals: AbortSignal[] = []
  const slow: DebugPage = {
    path: '/debug/slow',
    about: 'a page',
    answer: (_request, signal) => {
      signals.push(signal)
      return new Promise(() => {})
    },
  }
  const { get, clock } = await serve([slow, hello], { perPage: 2 })
  const waiting = [get('/debug/slow'), get('/debug/slow')]
  await vi.waitUntil(() => signals.length === 2)
  expect((await get('/debug/slow')).status).toBe(429)
  expect((await get('/debug/hello')).status).toBe(200)
  await clock.advance(limitsOnPort.timeMs)
  for (const answer of await Promise.all(waiting)) expect(answer.status).toBe(503)
  expect(signals.every(({ aborted }) => aborted)).toBe(true)
  const again = get('/debug/slow')
  await vi.waitUntil(() => signals.length === 3)
  await clock.advance(limitsOnPort.timeMs)
  expect((await again).status).toBe(503)
})

test('a page hears that its client is gone', async () => {
  const signals: AbortSignal[] = []
  const slow: DebugPage = {
    path: '/debug/slow',
    about: 'a page',
    answer: (_request, signal) => {
      signals.push(signal)
      return new Promise(() => {})
    },
  }
  const { address } = await serve([slow])
  const client = new AbortController()
  const asked = rawRequest(address, '/debug/slow', { signal: client.signal })
  await vi.waitUntil(() => signals.length === 1)
  client.abort()
  await expect(asked).rejects.toThrow('abort')
  await vi.waitUntil(() => signals[0]?.aborted)
})

test('an answer without end is not sent', async () => {
  const page: DebugPage = {
    path: '/debug/long',
    about: 'a page',
    answer: async () => ({ kind: 'text', text: 'x'.repeat(2000) }),
  }
  const { get } = await serve([page], { size: 1000 })
  expect(await get('/debug/long')).toMatchObject({ status: 400, body: expect.stringContaining('?limit=') as string })
})

test('a page that takes no limit says itself how to ask for less', async () => {
  const rendered = async () => [{ part: 'nftables', text: 'x'.repeat(2000) }]
  const family = { family: 'ipv4', rendered } as unknown as InspectedFamily
  const page = rulesPage({ families: [family], reading: new PacedReading(new FakeClock()) })
  const { get } = await serve([page], { size: 1000 })
  const { status, body } = await get('/debug/rules')
  expect(status).toBe(400)
  expect(body).toMatch(/ask for less, for example with .*\?part=NAME or \?service=NAMESPACE\/NAME\n$/)
  expect(body).not.toContain('?limit=')
})

async function serve(pages: readonly DebugPage[], limits: Partial<DebugLimits> = {}, busyMs = () => 0) {
  const clock = new FakeClock()
  const log = new RecordingLogger()
  const handler = debugHandler({ pages, limits: { ...limitsOnPort, ...limits }, clock, log, busyMs })
  const server = createServer((request, response) => void handler(request, response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const address = { ip: '127.0.0.1', port: (server.address() as AddressInfo).port }
  return { address, clock, log, get: (path: string, method = 'GET') => rawRequest(address, path, { method }) }
}
