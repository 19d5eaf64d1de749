import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import type { AnswerBody } from './http/answer-body.ts'
import { KubeClient } from './kube-client.ts'
import type { RequestMetrics } from './kube-client.ts'
import { loadKubeAccess } from './access/kube-access.ts'
import type { KubeAccessOptions } from './access/kube-access.ts'
import { CertificateAuthority } from './testing/certificates.ts'
import { eventually } from './testing/eventually.ts'
import { FaultServer } from './testing/fault-server.ts'
import { TcpProxy } from './testing/tcp-proxy.ts'
import { TemporaryFolder } from './testing/temporary-folder.ts'

type Finished = Parameters<RequestMetrics['requestFinished']>[0]

const never = new AbortController().signal

async function clientOf(access: KubeAccessOptions, clock = new FakeClock(), limits = { qps: -1 }): Promise<KubeClient> {
  return new KubeClient({ access: await loadKubeAccess(access), version: '1.2.3', clock, ...limits })
}

describe('over plain HTTP', () => {
  test('a request says who asks and wants JSON', async () => {
    await using server = await FaultServer.start()
    await using client = await clientOf({ master: `${server.url}/prefix/` })
    server.otherwise((exchange) => exchange.json(200, { items: [1] }))
    const query = { labelSelector: '!a/b', limit: 5, watch: undefined }
    expect(await client.request({ path: '/api/v1/services', query }, never)).toEqual({ items: [1] })
    expect(server.received[0]?.url.pathname).toBe('/prefix/api/v1/services')
    expect(server.received[0]?.url.search).toBe('?labelSelector=%21a%2Fb&limit=5')
    expect(server.received[0]?.headers).toMatchObject({
      accept: 'application/json',
      'user-agent': expect.stringMatching(/^fairlead\/1\.2\.3 \((linux|windows|darwin)\/\w+\)$/) as string,
    })
  })

  test('a body is sent as JSON with its content type', async () => {
    await using server = await FaultServer.start()
    await using client = await clientOf({ master: server.url })
    server.otherwise((exchange) => exchange.json(201, {}))
    await client.request(
      { method: 'PATCH', path: '/x', body: { ü: 1 }, contentType: 'application/merge-patch+json' },
      never,
    )
    expect(server.received[0]).toMatchObject({
      method: 'PATCH',
      body: '{"ü":1}',
      headers: { 'content-type': 'application/merge-patch+json' },
    })
  })

  test('every request is counted with its status, or without one when no answer came', async () => {
    const server = await FaultServer.start()
    const { host: address } = new URL(server.url)
    const counted: unknown[] = []
    const metrics = { requestFinished: ({ method, host, status }: Finished) => counted.push({ method, host, status }) }
    const access = await loadKubeAccess({ master: server.url })
    await using client = new KubeClient({ access, version: '1', qps: -1, metrics })
    server.otherwise((exchange) => exchange.json(200, {}))
    await client.request({ path: '/x' }, never)
    await server[Symbol.asyncDispose]()
    await client.request({ method: 'POST', path: '/x' }, never).catch(() => {})
    expect(counted).toEqual([
      { method: 'GET', host: address, status: 200 },
      { method: 'POST', host: address, status: undefined },
    ])
  })

  test('requests one after another share a connection', async () => {
    await using server = await FaultServer.start()
    await using client = await clientOf({ master: server.url })
    server.otherwise((exchange) => exchange.json(200, {}))
    for (let i = 0; i < 5; i++) await client.request({ path: '/x' }, never)
    expect(server.openSockets).toBe(1)
  })

  test.each([
    [400, 'BadRequest', 'invalid'],
    [401, 'Unauthorized', 'unauthorized'],
    [403, 'Forbidden', 'forbidden'],
    [404, 'NotFound', 'not-found'],
    [409, 'AlreadyExists', 'conflict'],
    [410, 'Expired', 'gone'],
    [422, 'Invalid', 'invalid'],
    [429, 'TooManyRequests', 'too-many-requests'],
    [500, 'InternalError', 'server-error'],
    [503, 'ServiceUnavailable', 'server-error'],
    [302, 'Found', 'protocol'],
  ])('status %i %s is an error of the reason we know it by', async (code, reason, expected) => {
    await using server = await FaultServer.start()
    await using client = await clientOf({ master: server.url })
    server.otherwise((exchange) => exchange.status(code, reason, 'because', { 'retry-after': '3' }))
    const failure = client.request({ path: '/x' }, never)
    await expect(failure).rejects.toMatchObject({ name: 'KubeError', reason: expected, code, retryAfterMs: 3_000 })
    await expect(failure).rejects.toThrow(`GET /x: the API server answered ${code}: because`)
  })

  test('Retry-After may be a date or a field of the Status, and is never followed for more than five minutes', async () => {
    await using server = await FaultServer.start()
    const clock = new FakeClock()
    await using client = await clientOf({ master: server.url }, clock)
    const date = new Date(clock.now() + 9_000).toUTCString()
    server
      .script((exchange) => exchange.status(503, 'x', 'x', { 'retry-after': date }))
      .script((exchange) => exchange.json(429, { code: 429, details: { retryAfterSeconds: 2 } }))
      .script((exchange) => exchange.status(429, 'x', 'x', { 'retry-after': '86400' }))
    for (const retryAfterMs of [9_000, 2_000, 300_000])
      await expect(client.request({ path: '/x' }, never)).rejects.toMatchObject({ retryAfterMs })
  })

  test('an answer that stops half-way is given up after 30 s of silence', async () => {
    await using server = await FaultServer.start()
    const clock = new FakeClock()
    await using client = await clientOf({ master: server.url }, clock)
    server.otherwise((exchange) => void exchange.open().write('{"slow":'))
    const failure = client.request({ path: '/x' }, never).catch((error: unknown) => error)
    await eventually('the request', () => server.received.length === 1)
    await clock.advance(30_000)
    expect(await failure).toMatchObject({ reason: 'timeout' })
    await eventually('the connection to be closed', () => server.exchanges[0]?.isGone === true)
  })

  test('a refusal whose explanation never ends is given up, and its connection closed', async () => {
    await using server = await FaultServer.start()
    const clock = new FakeClock()
    await using client = await clientOf({ master: server.url }, clock)
    server.otherwise((exchange) => void exchange.open(500).write('well, you see'))
    const failure = client.stream({ path: '/x' }, never).catch((error: unknown) => error)
    await eventually('the client to wait for the explanation', () => clock.sleeping > 0)
    await clock.advance(30_000)
    expect(await failure).toMatchObject({ reason: 'timeout' })
    await eventually('the connection to be closed', () => server.exchanges[0]?.isGone === true)
  })

  test('an abort ends a request at once with its reason', async () => {
    await using server = await FaultServer.start()
    await using client = await clientOf({ master: server.url })
    server.otherwise(() => {})
    const stop = new AbortController()
    const failure = client.request({ path: '/x' }, stop.signal)
    await eventually('the request', () => server.received.length === 1)
    stop.abort(new Error('enough'))
    await expect(failure).rejects.toThrow('enough')
  })

  test('a connection that breaks is an unreachable server', async () => {
    await using server = await FaultServer.start()
    await using client = await clientOf({ master: server.url })
    server.otherwise((exchange) => exchange.cut())
    await expect(client.request({ path: '/x' }, never)).rejects.toMatchObject({ reason: 'unreachable' })
  })

  test('requests beyond the burst wait for their turn', async () => {
    await using server = await FaultServer.start()
    const clock = new FakeClock()
    const access = await loadKubeAccess({ master: server.url })
    await using client = new KubeClient({ access, version: '1', clock, qps: 2, burst: 3 })
    server.otherwise((exchange) => exchange.json(200, {}))
    const all = Promise.all([1, 2, 3, 4, 5].map((n) => client.request({ path: `/${n}` }, never)))
    await eventually('the burst', () => server.received.length === 3)
    await clock.advance(499)
    expect(server.received).toHaveLength(3)
    await clock.advance(1)
    await eventually('the fourth', () => server.received.length === 4)
    await clock.advance(500)
    await all
    expect(server.received).toHaveLength(5)
  })
})

describe('over TLS', () => {
  const ca = new CertificateAuthority('Fairlead test CA')
  let folder: TemporaryFolder

  beforeAll(async () => {
    folder = await TemporaryFolder.make()
    await folder.write('ca.crt', ca.cert)
  })

  afterAll(async () => {
    await folder[Symbol.asyncDispose]()
  })

  function kubeconfig(url: string, user: string, cluster = 'certificate-authority: ca.crt'): string {
    return `
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "${url}", ${cluster}}}]
users: [{name: u, user: ${user}}]`
  }

  for (const [protocol, httpVersion] of [
    ['https', '1.1'],
    ['h2', '2.0'],
  ] as const) {
    test(`the server's best version is spoken: ${httpVersion}`, async () => {
      await using server = await FaultServer.start({ protocol, tls: ca.server() })
      const file = await folder.write(`best-${protocol}`, kubeconfig(server.url, '{token: secret}'))
      await using client = await clientOf({ kubeconfig: file })
      server.otherwise((exchange) => exchange.json(200, { ok: true }))
      expect(await client.request({ path: '/x', body: { a: 1 }, method: 'POST' }, never)).toEqual({ ok: true })
      expect(server.received[0]).toMatchObject({
        httpVersion,
        body: '{"a":1}',
        headers: { authorization: 'Bearer secret' },
      })
    })

    for (const [how, read] of [
      ['in one go', readInOneGo],
      ['piece by piece', readPieceByPiece],
    ] as const)
      test(`a stream over ${httpVersion}, read ${how}, that is cut is an error, and the next request gets a new connection`, async () => {
        await using server = await FaultServer.start({ protocol, tls: ca.server() })
        const file = await folder.write(`cut-${protocol}`, kubeconfig(server.url, '{}'))
        await using client = await clientOf({ kubeconfig: file })
        server
          .script((exchange) => exchange.open().write('half').cut())
          .script((exchange) => exchange.json(200, { ok: true }))
        const chunks: string[] = []
        const reading = client.stream({ path: '/x' }, never).then((body) => read(body, chunks))
        await expect(reading).rejects.toMatchObject({ reason: 'unreachable' })
        expect(chunks).toEqual(['half'])
        expect(await client.request({ path: '/x' }, never)).toEqual({ ok: true })
      })

    test(`whoever has had enough of a stream over ${httpVersion} hears no more of it, and what he throws is heard`, async () => {
      await using server = await FaultServer.start({ protocol, tls: ca.server() })
      const file = await folder.write(`enough-${protocol}`, kubeconfig(server.url, '{}'))
      await using client = await clientOf({ kubeconfig: file })
      server.otherwise((exchange) => void exchange.open().write('one'))
      const heard: string[] = []
      await (
        await client.stream({ path: '/x' }, never)
      ).forEach((chunk) => {
        heard.push(chunk.toString())
        return false
      })
      expect(heard).toEqual(['one'])
      const reading = (await client.stream({ path: '/x' }, never)).forEach(() => {
        throw new RangeError('not this')
      })
      await expect(reading).rejects.toThrow(RangeError)
    })

    test.skipIf(process.platform === 'win32')(
      `a client certificate that is rotated by a symlink swap is used for the next request (${httpVersion}; not on Windows: Wine makes no links)`,
      async () => {
        await using server = await FaultServer.start({
          protocol,
          tls: { ...ca.server(), ca: ca.cert, requestCert: true },
        })
        await using mount = await TemporaryFolder.make()
        const { mkdir, rename, symlink, writeFile } = await import('node:fs/promises')
        const publish = async (version: string) => {
          // As the kubelet does it: a new folder, then one rename of the link that all paths go through.
          const pair = ca.client(`fairlead-${version}`)
          await mkdir(`${mount.path}/${version}`)
          await writeFile(`${mount.path}/${version}/tls.crt`, pair.cert)
          await writeFile(`${mount.path}/${version}/tls.key`, pair.key)
          await symlink(version, `${mount.path}/next`)
          await rename(`${mount.path}/next`, `${mount.path}/data`)
        }
        await publish('v1')
        const user = `{client-certificate: ${mount.path}/data/tls.crt, client-key: ${mount.path}/data/tls.key}`
        const file = await folder.write(`rotate-${protocol}`, kubeconfig(server.url, user))
        await using client = await clientOf({ kubeconfig: file })
        server.otherwise((exchange) => exchange.json(200, {}))
        await client.request({ path: '/x' }, never)
        await publish('v2')
        await client.request({ path: '/x' }, never)
        expect(server.received.map((request) => request.client)).toEqual(['fairlead-v1', 'fairlead-v2'])
      },
    )

    test(`a server that wants a certificate and gets none is not trusted or not reached (${httpVersion})`, async () => {
      await using server = await FaultServer.start({
        protocol,
        tls: { ...ca.server(), ca: ca.cert, requestCert: true },
      })
      const file = await folder.write(`none-${protocol}`, kubeconfig(server.url, '{}'))
      await using client = await clientOf({ kubeconfig: file })
      await expect(client.request({ path: '/x' }, never)).rejects.toMatchObject({
        reason: expect.stringMatching(/untrusted|unreachable/) as string,
      })
    })
  }

  test('a server frozen in the middle of an HTTP/2 watch is found dead within 25 s', async () => {
    await using server = await FaultServer.start({ protocol: 'h2', tls: ca.server() })
    await using proxy = await TcpProxy.start(server.port)
    const clock = new FakeClock()
    const file = await folder.write('freeze', kubeconfig(`https://127.0.0.1:${proxy.port}`, '{}'))
    await using client = await clientOf({ kubeconfig: file }, clock)
    server.otherwise((exchange) => void exchange.open().write('alive\n'))
    const body = (await client.stream({ path: '/x' }, never))[Symbol.asyncIterator]()
    expect((await body.next()).value?.toString()).toBe('alive\n')
    proxy.freeze()
    const death = body.next().catch((error: unknown) => error)
    await clock.advance(25_000)
    expect(await death).toMatchObject({ reason: 'unreachable', message: expect.stringMatching(/PING/) as string })
    expect(clock.sleeping).toBe(0)
  })

  test('a quiet HTTP/2 watch whose server answers PINGs lives on', async () => {
    await using server = await FaultServer.start({ protocol: 'h2', tls: ca.server() })
    const clock = new FakeClock()
    const file = await folder.write('quiet', kubeconfig(server.url, '{}'))
    await using client = await clientOf({ kubeconfig: file }, clock)
    server.script((exchange) => void exchange.open().write('alive\n'))
    server.otherwise((exchange) => exchange.json(200, {}))
    const body = (await client.stream({ path: '/x' }, never))[Symbol.asyncIterator]()
    await body.next()
    for (let round = 0; round < 5; round++) {
      await clock.advance(15_000)
      await client.request({ path: '/y' }, never) // on the same connection, so the answer to the PING comes first
    }
    server.exchanges[0]?.write('still\n')
    expect((await body.next()).value?.toString()).toBe('still\n')
    expect(server.pings).toBe(5)
  })

  test('a server that says goodbye on HTTP/2 may finish its watches, and gets new requests on a new connection', async () => {
    await using server = await FaultServer.start({ protocol: 'h2', tls: ca.server() })
    const file = await folder.write('goaway', kubeconfig(server.url, '{}'))
    await using client = await clientOf({ kubeconfig: file })
    server.script((exchange) => void exchange.open().write('before\n'))
    server.otherwise((exchange) => exchange.json(200, {}))
    const body = (await client.stream({ path: '/x' }, never))[Symbol.asyncIterator]()
    await body.next()
    server.sayGoodbye()
    await eventually('a request on a new connection', () => {
      void client.request({ path: '/y' }, never).catch(() => {})
      return server.sessions === 2
    })
    server.exchanges[0]?.write('after\n')
    expect((await body.next()).value?.toString()).toBe('after\n')
  })

  test('a certificate authority that is replaced is read again', async () => {
    const other = new CertificateAuthority('another CA')
    await using server = await FaultServer.start({ protocol: 'h2', tls: other.server() })
    const file = await folder.write('new-ca', kubeconfig(server.url, '{}', 'certificate-authority: rotated.crt'))
    await folder.write('rotated.crt', ca.cert)
    await using client = await clientOf({ kubeconfig: file })
    server.otherwise((exchange) => exchange.json(200, { ok: true }))
    await expect(client.request({ path: '/x' }, never)).rejects.toMatchObject({ reason: 'untrusted' })
    await folder.write('rotated.crt', other.cert)
    expect(await client.request({ path: '/x' }, never)).toEqual({ ok: true })
  })

  test('the name in the certificate is checked, and tls-server-name says which to expect', async () => {
    await using server = await FaultServer.start({ protocol: 'h2', tls: ca.server('kubernetes.default') })
    server.otherwise((exchange) => exchange.json(200, { ok: true }))
    const wrong = await folder.write('name-1', kubeconfig(server.url, '{}'))
    await using refused = await clientOf({ kubeconfig: wrong })
    await expect(refused.request({ path: '/x' }, never)).rejects.toMatchObject({ reason: 'untrusted' })
    const cluster = 'certificate-authority: ca.crt, tls-server-name: kubernetes.default'
    const right = await folder.write('name-2', kubeconfig(server.url, '{}', cluster))
    await using client = await clientOf({ kubeconfig: right })
    expect(await client.request({ path: '/x' }, never)).toEqual({ ok: true })
    const blind = await folder.write('name-3', kubeconfig(server.url, '{}', 'insecure-skip-tls-verify: true'))
    await using insecure = await clientOf({ kubeconfig: blind })
    expect(await insecure.request({ path: '/x' }, never)).toEqual({ ok: true })
  })

  test('a kubeconfig that names another server is followed', async () => {
    await using old = await FaultServer.start({ protocol: 'h2', tls: ca.server() })
    await using fresh = await FaultServer.start({ protocol: 'h2', tls: ca.server() })
    old.otherwise((exchange) => exchange.json(200, { from: 'old' }))
    fresh.otherwise((exchange) => exchange.json(200, { from: 'fresh' }))
    const file = await folder.write('moving', kubeconfig(old.url, '{}'))
    await using client = await clientOf({ kubeconfig: file })
    expect(await client.request({ path: '/x' }, never)).toEqual({ from: 'old' })
    await folder.write('moving', 'current-context: [broken')
    expect(await client.request({ path: '/x' }, never)).toEqual({ from: 'old' })
    await folder.write('moving', kubeconfig(fresh.url, '{}'))
    expect(await client.request({ path: '/x' }, never)).toEqual({ from: 'fresh' })
  })

  test('a pod finds its API server and token by itself, and follows the rotation of the token', async () => {
    await using server = await FaultServer.start({ protocol: 'h2', tls: ca.server() })
    await using account = await TemporaryFolder.make()
    await account.write('ca.crt', ca.cert)
    await account.write('token', 'first\n')
    const env = { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: String(server.port) }
    await using client = await clientOf({ env, serviceAccountDir: account.path })
    server.otherwise((exchange) => exchange.json(200, {}))
    await client.request({ path: '/x' }, never)
    await account.write('token', '')
    await client.request({ path: '/x' }, never)
    await account.write('token', 'second\n')
    await client.request({ path: '/x' }, never)
    expect(server.received.map((request) => request.headers['authorization'])).toEqual([
      'Bearer first',
      'Bearer first',
      'Bearer second',
    ])
  })
})

function readInOneGo(body: AnswerBody, chunks: string[]): Promise<void> {
  return body.forEach((chunk) => void chunks.push(chunk.toString()))
}

async function readPieceByPiece(body: AnswerBody, chunks: string[]): Promise<void> {
  for await (const chunk of body) chunks.push(chunk.toString())
}
