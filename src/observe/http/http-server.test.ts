import { connect, createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { once } from 'node:events'
import { expect, test, vi } from 'vitest'
import { silentLogger } from '../../core/logger.ts'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { RecordingLogger } from '../../core/testing/recording-logger.ts'
import { listenHttp, listenWithRetry, ListenError, serveHttp } from './http-server.ts'
import type { BindAddress } from './http-server.ts'
import type { HttpHandler } from './reply.ts'
import { reply } from './reply.ts'
import { rawRequest } from './testing/raw-request.ts'

const hello: HttpHandler = (_request, response) => reply(response, 200, {}, 'hello')
const loopback = { ip: '127.0.0.1', port: 0 }
const hasIpv6 = Object.values(networkInterfaces()).some((entries) => entries?.some(({ address }) => address === '::1'))

test('a busy port is tried again every five seconds until it is free', async () => {
  const { bind, holder } = await busyPort()
  const clock = new FakeClock()
  const log = new RecordingLogger()
  const listening = listenWithRetry({ ...server(), bind, log, clock, isHardFail: false }, new AbortController().signal)
  await vi.waitUntil(() => clock.sleeping === 1)
  await clock.advance(4999)
  expect(log.at('error')).toHaveLength(1)
  await clock.advance(1)
  await vi.waitUntil(() => clock.sleeping === 1)
  expect(log.at('error')).toHaveLength(2)
  expect(log.lines[0]).toMatchObject({
    message: 'cannot listen, will be retried',
    fields: {
      retryMs: 5000,
      error: {
        reason: 'in-use',
        message: expect.stringContaining(`127.0.0.1:${bind.port} for the test server`) as string,
      },
    },
  })
  await new Promise((resolve) => holder.close(resolve))
  await clock.advance(5000)
  await using listener = await listening
  expect(listener.address).toEqual(bind)
})

test('with hard-fail a busy port is the end', async () => {
  const { bind, holder } = await busyPort()
  const clock = new FakeClock()
  const signal = new AbortController().signal
  await expect(serveHttp({ ...server(), bind, clock, isHardFail: true }, signal)).rejects.toThrow('the port is in use')
  holder.close()
})

test('a port that the system keeps to itself is refused with what to do about it there', () => {
  const refused = Object.assign(new Error('listen EACCES'), { code: 'EACCES' })
  const told = (platform: NodeJS.Platform) =>
    new ListenError('the test server', '0.0.0.0:80', refused, platform).message
  expect(told('linux')).toBe(
    'cannot listen on 0.0.0.0:80 for the test server: not permitted; run as root or choose a port above 1023',
  )
  expect(told('win32')).toContain('netsh interface ipv4 show excludedportrange')
})

test('an address that is not of this host is refused with its own reason', async () => {
  await expect(listenHttp({ ...server(), bind: { ip: '192.0.2.1', port: 0 } })).rejects.toMatchObject({
    name: 'ListenError',
    reason: 'no-such-address',
  })
})

test('serving ends when the signal aborts', async () => {
  const stop = new AbortController()
  const onListening = vi.fn<(address: BindAddress) => void>()
  const options = { ...server(), clock: new FakeClock(), isHardFail: false, onListening }
  const serving = serveHttp(options, stop.signal)
  await vi.waitUntil(() => onListening.mock.calls.length === 1)
  const address = onListening.mock.calls[0]?.[0] ?? loopback
  expect(await rawRequest(address, '/')).toMatchObject({ body: 'hello' })
  stop.abort(new Error('stopped'))
  await serving
  await expect(rawRequest(address, '/')).rejects.toThrow('ECONNREFUSED')
})

test('waiting for a busy port ends when the signal aborts', async () => {
  const { bind, holder } = await busyPort()
  const clock = new FakeClock()
  const stop = new AbortController()
  const serving = serveHttp({ ...server(), bind, clock, isHardFail: false }, stop.signal)
  await vi.waitUntil(() => clock.sleeping === 1)
  stop.abort(new Error('stopped'))
  await serving
  expect(clock.sleeping).toBe(0)
  holder.close()
})

test.skipIf(!hasIpv6)('0.0.0.0 listens on both families (skipped where the host has no ::1)', async () => {
  await using listener = await listenHttp({ ...server(), bind: { ip: '0.0.0.0', port: 0 } })
  for (const host of ['127.0.0.1', '::1'])
    expect(await rawRequest(listener.address, '/', { host })).toMatchObject({ body: 'hello' })
})

test.skipIf(!hasIpv6)('a single family means exactly that (skipped where the host has no ::1)', async () => {
  for (const [ip, own, other] of [
    ['0.0.0.0', '127.0.0.1', '::1'],
    ['::', '::1', '127.0.0.1'],
  ] as const) {
    await using listener = await listenHttp({ ...server(), bind: { ip, port: 0 }, isSingleFamily: true })
    expect(await rawRequest(listener.address, '/', { host: own })).toMatchObject({ body: 'hello' })
    await expect(rawRequest(listener.address, '/', { host: other })).rejects.toThrow('ECONNREFUSED')
  }
})

test('closing waits for no client: idle, in the middle of a request, or in want of an answer', async () => {
  const never: HttpHandler = () => new Promise(() => {})
  for (const [handler, sent] of [
    [hello, 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    [hello, 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\nGET / HT'],
    [never, 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'],
  ] as const) {
    const arrived = vi.fn<() => void>()
    const counting: HttpHandler = (request, response) => {
      arrived()
      return handler(request, response)
    }
    const listener = await listenHttp({ ...server(), handler: counting })
    const client = connect(listener.address.port, '127.0.0.1')
    client.write(sent)
    client.resume()
    await vi.waitUntil(() => arrived.mock.calls.length === 1)
    const closed = once(client, 'close')
    await listener[Symbol.asyncDispose]()
    await closed
    expect(client.destroyed).toBe(true)
  }
})

const page = { origin: 'https://page.example' }
const named = { host: 'page.example:10249' }
for (const [what, path, headers, onLoopback, elsewhere] of [
  ['a program', '/metrics', {}, 200, 200],
  ['a person who types the address', '/metrics', { 'sec-fetch-site': 'none' }, 200, 200],
  ['a web page', '/metrics', page, 403, 403],
  ['a web page, without saying from where', '/configz', { 'sec-fetch-site': 'cross-site' }, 403, 403],
  ['a web page that asks for leave', '/debug/flags/v', { ...page, 'access-control-request-method': 'PUT' }, 403, 403],
  ['somebody by another name', '/metrics', named, 403, 200],
  ['somebody by another name, about health', '/healthz', named, 200, 200],
  ['a web page, about health', '/livez?x', page, 200, 200],
] as const)
  test(`a request of ${what} gets ${onLoopback} on loopback and ${elsewhere} elsewhere`, async () => {
    for (const [ip, status] of [
      ['127.0.0.1', onLoopback],
      ['0.0.0.0', elsewhere],
    ] as const) {
      await using listener = await listenHttp({ ...server(), bind: { ip, port: 0 } })
      const answer = await rawRequest(listener.address, path, { host: '127.0.0.1', headers })
      expect([answer.status, /^(hello|forbidden)/.exec(answer.body)?.[0]]).toEqual([
        status,
        status === 200 ? 'hello' : 'forbidden',
      ])
    }
  })

test('a server for health checks only may answer everybody', async () => {
  await using listener = await listenHttp({ ...server(), answersPages: true })
  expect(await rawRequest(listener.address, '/x', { headers: { ...page, ...named } })).toMatchObject({ status: 200 })
})

for (const [what, request, status] of [
  ['headers that are far too long', `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`, 431],
  ['an address that is far too long', `GET /${'x'.repeat(100_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`, 431],
  ['something else than HTTP', `hello\r\n\r\n`, 400],
] as const)
  test(`a client that sends ${what} gets ${status} and is gone`, async () => {
    await using listener = await listenHttp(server())
    const client = connect(listener.address.port, '127.0.0.1')
    client.on('error', () => {})
    client.write(request)
    const [answer] = (await once(client, 'data')) as [Buffer]
    expect(answer.toString()).toContain(`HTTP/1.1 ${status} `)
    client.resume()
    await once(client, 'close')
  })

test('a handler that throws is a 500 and a log line, and the server goes on', async () => {
  const log = new RecordingLogger()
  let calls = 0
  const handler: HttpHandler = async (request, response) => {
    await Promise.resolve()
    if (calls++ === 0) throw new Error('boom')
    void hello(request, response)
  }
  await using listener = await listenHttp({ ...server(), handler, log })
  expect(await rawRequest(listener.address, '/x')).toMatchObject({ status: 500, body: 'internal error, see the log\n' })
  expect(log.at('error')).toMatchObject([{ message: 'cannot answer a request', fields: { url: '/x' } }])
  expect(await rawRequest(listener.address, '/')).toMatchObject({ status: 200, body: 'hello' })
})

function server() {
  return { what: 'the test server', bind: loopback, handler: hello, log: silentLogger }
}

async function busyPort() {
  const holder = createServer().listen(0, '127.0.0.1')
  await once(holder, 'listening')
  return { holder, bind: { ip: '127.0.0.1', port: (holder.address() as AddressInfo).port } }
}
