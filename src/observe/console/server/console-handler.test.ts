/** Who is answered and who is not, over real connections. */
import { gunzipSync } from 'node:zlib'
import { request } from 'node:http'
import { connect } from 'node:net'
import { buffer, text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import type { RawRequest } from '../../http/testing/raw-request.ts'
import { script, serveConsole } from './testing/serve-console.ts'
import type { ServedConsole } from './testing/serve-console.ts'

const everywhere = {
  'content-security-policy': expect.stringMatching(
    /^default-src 'none'; script-src 'self';.*frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'$/,
  ) as string,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

for (const [what, path, status, type, more] of [
  ['the page', '/', 200, 'text/html; charset=utf-8', {}],
  ['a view of the page', '/services/default/web?q=a', 200, 'text/html; charset=utf-8', {}],
  ['an asset', `/${script}`, 200, 'text/javascript; charset=utf-8', immutable()],
  ['a debug page', '/debug/echo?a=b', 200, 'application/json', {}],
  ['a debug page that is not there', '/debug/nothing', 404, 'text/plain; charset=utf-8', {}],
  ['who may look', '/api/login', 204, undefined, {}],
  ['something unknown of the server', '/api/nothing', 404, 'text/plain; charset=utf-8', {}],
  ['an icon', '/favicon.ico', 404, 'text/plain; charset=utf-8', {}],
  ['a hidden file', '/.git/config', 404, 'text/plain; charset=utf-8', {}],
  ['an asset that is not there', '/assets/x.js', 404, 'text/plain; charset=utf-8', {}],
] as const)
  test(`${what}: ${path} is answered with ${status} and every header`, async () => {
    const { ask } = await serveConsole()
    const answer = await ask(path)
    expect(answer).toMatchObject({ status, headers: { ...everywhere, 'cache-control': 'no-store', ...more } })
    expect(answer.headers['content-type']).toBe(type)
    expect(answer.headers['access-control-allow-origin']).toBeUndefined()
  })

test('refusals have every header too', async () => {
  const { ask } = await serveConsole({ token: () => 'x'.repeat(32) })
  for (const [path, options] of [
    ['/', { headers: { host: 'evil.example' } }],
    ['/api/live', {}],
    ['/', { method: 'PUT' }],
  ] as const)
    expect((await ask(path, options)).headers).toMatchObject({ ...everywhere, 'cache-control': 'no-store' })
})

for (const path of [
  '/assets/../index.html',
  '/assets/..%2f..%2fpackage.json',
  '/assets/%2e%2e/%2e%2e/etc/passwd',
  '/assets//etc/passwd',
  String.raw`/assets/..\..\package.json`,
  '/assets/',
  '/assets/console-0123456789ab.js/',
  '/assets/__proto__',
])
  test(`there is no file at ${path}`, async () => {
    const { ask } = await serveConsole()
    expect(await ask(path)).toMatchObject({ status: 404 })
  })

test('an address that is no path leads nowhere', async () => {
  const { ask } = await serveConsole()
  for (const path of ['http://127.0.0.1/', 'http://127.0.0.1/api/login', '*'])
    expect((await ask(path)).status).toBe(404)
  expect((await ask('x')).status).toBe(400)
})

test('files are read when somebody looks, and once', async () => {
  const { ask, reads } = await serveConsole()
  await ask('/debug/echo')
  expect(reads()).toBe(0)
  await Promise.all([ask('/'), ask('/'), ask(`/${script}`)])
  expect(reads()).toBe(1)
})

test('a browser that has an asset gets nothing again, and one that reads gzip gets that', async () => {
  const { ask, address } = await serveConsole()
  const plain = await ask(`/${script}`)
  const tag = plain.headers.etag ?? ''
  expect(await ask(`/${script}`, { headers: { 'if-none-match': `"x", ${tag}` } })).toMatchObject({
    status: 304,
    body: '',
  })
  const zipped = await bytes(address.port, `/${script}`, { 'accept-encoding': 'deflate, gzip;q=0.5' })
  expect(zipped.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'Accept-Encoding' })
  expect(zipped.headers.etag).not.toBe(tag)
  expect(gunzipSync(zipped.body).toString()).toBe(plain.body)
  for (const header of ['gzip;q=0', 'identity', 'br, gzip; q=0.0, deflate'])
    expect((await ask(`/${script}`, { headers: { 'accept-encoding': header } })).headers['content-encoding']).toBe(
      undefined,
    )
})

test('HEAD is answered like GET, without the body', async () => {
  const { ask } = await serveConsole()
  for (const path of ['/', `/${script}`, '/api/live'])
    expect(await ask(path, { method: 'HEAD' })).toMatchObject({ status: 200, body: '' })
})

for (const [method, path] of [
  ['POST', '/'],
  ['POST', '/debug/echo'],
  ['POST', '/api/live'],
  ['POST', '/api/demo'],
  ['PUT', '/api/login'],
  ['DELETE', '/services/default/web'],
  ['PATCH', '/debug/echo'],
  ['OPTIONS', '/api/login'],
] as const)
  test(`${method} ${path} is refused: the console changes nothing`, async () => {
    const { ask } = await serveConsole()
    expect(await ask(path, { method, headers: { 'content-type': 'application/json' }, body: '{}' })).toMatchObject({
      status: 405,
      headers: { allow: 'GET, HEAD' },
    })
  })

const link = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
const proxied: ServedConsole = { url: 'https://console.example' }
const open: ServedConsole = { ip: '0.0.0.0', token: () => 'x'.repeat(32) }
for (const [what, server, path, headers, status] of [
  ['a program', {}, '/api/login', {}, 204],
  ['a typed address', {}, '/', { 'sec-fetch-site': 'none' }, 200],
  ['the page itself', {}, '/api/login', { 'sec-fetch-site': 'same-origin' }, 204],
  ['localhost by name', {}, '/api/login', { host: 'localhost:10257' }, 204],
  ['a tunnel to another port', {}, '/api/login', { host: '127.0.0.1:8080', origin: 'http://127.0.0.1:8080' }, 204],
  ['a name that resolves to this machine', {}, '/', { host: 'rebound.example:10257' }, 403],
  ['such a name, for the stream', {}, '/api/live', { host: 'rebound.example:10257' }, 403],
  ['a name that only looks local', {}, '/', { host: 'localhost.evil.example' }, 403],
  ['no name at all', {}, '/', { host: '' }, 200],
  ['a Host that is none', {}, '/', { host: 'a b:c' }, 403],
  ['a page of elsewhere', {}, '/api/login', { origin: 'https://evil.example' }, 403],
  ['a page of another port', {}, '/api/login', { origin: 'http://127.0.0.1:1' }, 403],
  ['a page of another scheme', {}, '/', { host: '127.0.0.1:9', origin: 'https://127.0.0.1:9' }, 403],
  ['a sandbox', {}, '/api/login', { origin: 'null' }, 403],
  ['an origin that is none', {}, '/api/login', { origin: 'evil' }, 403],
  ['a page of elsewhere, unnamed', {}, '/debug/echo', { 'sec-fetch-site': 'cross-site' }, 403],
  ['a page of another port, unnamed', {}, '/api/live', { 'sec-fetch-site': 'same-site' }, 403],
  ['a script tag elsewhere', {}, `/${script}`, { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'script' }, 403],
  ['a link in a chat', {}, '/explain?target=10.96.0.1:80', link, 200],
  ['a link to data', {}, '/debug/echo', link, 403],
  ['a link to the stream', {}, '/api/live', link, 403],
  ['a frame elsewhere', {}, '/', { ...link, 'sec-fetch-dest': 'iframe' }, 403],
  ['the proxy in front', proxied, '/api/login', { host: 'console.example' }, 204],
  ['the proxy, in capitals', proxied, '/api/login', { host: 'Console.Example' }, 204],
  ['its page', proxied, '/api/login', { host: 'console.example', origin: 'https://console.example' }, 204],
  ['its page, by a proxy that renames', proxied, '/', { host: '127.0.0.1:9', origin: 'https://console.example' }, 200],
  ['another name at the proxy', proxied, '/', { host: 'other.example' }, 403],
  ['its page without TLS', proxied, '/', { host: '127.0.0.1:9', origin: 'http://console.example' }, 403],
  ['any name where a certificate is checked', open, '/', { host: 'node-1.example' }, 200],
  ['a page elsewhere, there', open, '/', { host: 'node-1.example', origin: 'https://evil.example' }, 403],
] as const)
  test(`${what}: ${path} is answered with ${status}`, async () => {
    const { ask } = await serveConsole(server)
    const answer = await ask(path, { headers })
    expect([answer.status, answer.body.startsWith('forbidden: ')]).toEqual([status, status === 403])
  })

test('the demo takes its buttons, from its own page only', async () => {
  const acted: unknown[] = []
  const act = async (action: unknown) => {
    acted.push(action)
    return (action as { kind: string }).kind === 'stop' ? undefined : 'there is no such button'
  }
  const { post, log } = await serveConsole({ demo: { act } })
  expect(await post('/api/demo', { kind: 'stop' })).toMatchObject({ status: 204 })
  expect(await post('/api/demo', { kind: 'x' })).toMatchObject({ status: 400, body: 'there is no such button\n' })
  expect(await post('/api/demo', { kind: 'stop' }, { origin: 'https://evil.example' })).toMatchObject({ status: 403 })
  expect(await post('/api/demo', { kind: 'stop' }, { 'sec-fetch-site': 'same-site' })).toMatchObject({ status: 403 })
  expect(await post('/api/demo', { kind: 'stop' }, { 'content-type': 'text/plain' })).toMatchObject({ status: 415 })
  expect(acted).toEqual([{ kind: 'stop' }, { kind: 'x' }])
  expect(log.at('error')).toEqual([])
})

test('the demo with a token takes its buttons from those who know it', async () => {
  const acted: unknown[] = []
  const { post } = await serveConsole({
    token: () => 'x'.repeat(32),
    demo: { act: async (action) => void acted.push(action) },
  })
  expect(await post('/api/demo', {})).toMatchObject({ status: 401 })
  expect(await post('/api/demo', {}, { authorization: `Bearer ${'x'.repeat(32)}` })).toMatchObject({ status: 204 })
  expect(acted).toHaveLength(1)
})

for (const [what, body, status] of [
  ['nothing', '', 400],
  ['no JSON', '{"token"', 400],
  ['no object', '"x"', 400],
  ['null', 'null', 400],
  ['too much', JSON.stringify({ token: 'x'.repeat(20_000) }), 413],
] as const)
  test(`a login that sends ${what} is refused with ${status}`, async () => {
    const { post, log } = await serveConsole()
    expect(await post('/api/login', body)).toMatchObject({ status, headers: everywhere })
    expect(log.at('error')).toEqual([])
  })

test('whoever sends too much is told so before the rest has come', async () => {
  const { address } = await serveConsole()
  const head = 'POST /api/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 999999'
  expect(await sentRaw(address.port, `${head}\r\n\r\n${'x'.repeat(10_000)}`)).toContain('HTTP/1.1 413 ')
})

for (const [what, lines, status] of [
  ['two lengths', ['POST /api/login HTTP/1.1', 'Host: x', 'Content-Length: 1', 'Content-Length: 2'], 400],
  ['a length and chunks', ['POST / HTTP/1.1', 'Host: x', 'Content-Length: 1', 'Transfer-Encoding: chunked'], 400],
  ['no Host', ['GET / HTTP/1.1'], 400],
  ['a path with a zero', ['GET /services/%00 HTTP/1.1', 'Host: localhost', 'Connection: close'], 200],
  ['a percent sign alone', ['GET /services/% HTTP/1.1', 'Host: localhost', 'Connection: close'], 200],
  ['one in a debug page', ['GET /debug/services/%/x HTTP/1.1', 'Host: localhost', 'Connection: close'], 404],
  ['one in a topic', ['HEAD /api/live?topic=% HTTP/1.1', 'Host: localhost', 'Connection: close'], 200],
  ['HTTP/1.0', ['GET / HTTP/1.0'], 200],
] as const)
  test(`a request with ${what} is answered with ${status}, and the server goes on`, async () => {
    const { address, ask, log } = await serveConsole()
    expect(await sentRaw(address.port, `${lines.join('\r\n')}\r\n\r\n`)).toContain(`HTTP/1.1 ${status} `)
    expect(await ask('/api/login')).toMatchObject({ status: 204 })
    expect(log.at('error')).toEqual([])
  })

test('who clicks through the pages is not told to wait', async () => {
  const { ask } = await serveConsole()
  const answers = await Promise.all(Array.from({ length: 15 }, () => ask('/debug/echo')))
  for (let i = 0; i < 50; i++) answers.push(await ask('/debug/echo'))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
})

function immutable() {
  return { 'cache-control': 'public, max-age=31536000, immutable' }
}

/** The answer to just these bytes. */
async function sentRaw(port: number, sent: string): Promise<string> {
  const client = connect(port, '127.0.0.1')
  client.write(sent)
  return text(client)
}

function bytes(port: number, path: string, headers: NonNullable<RawRequest['headers']>) {
  return new Promise<{ body: Buffer; headers: Readonly<Record<string, string | string[] | undefined>> }>(
    (resolve, reject) => {
      request({ port, path, headers, agent: false }, (answer) => {
        buffer(answer).then((body) => resolve({ body, headers: answer.headers }), reject)
      })
        .on('error', reject)
        .end()
    },
  )
}
