/** TLS, with real handshakes. */
import { once } from 'node:events'
import { request } from 'node:https'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { connect as connectTls } from 'node:tls'
import { expect, onTestFinished, test, vi } from 'vitest'
import { silentLogger } from '../../core/logger.ts'
import { ConnectionLimit } from '../../http/connection-limit.ts'
import { KeptSockets } from '../../net/kept-sockets.ts'
import { CertificateAuthority } from '../../sources/kube/testing/certificates.ts'
import { listenHttp } from './http-server.ts'
import type { HttpServerOptions, ServerTls } from './http-server.ts'
import { reply } from './reply.ts'

const [first, second] = [new CertificateAuthority('first'), new CertificateAuthority('second')]

test('a request is answered, and programs that speak no TLS are not', async () => {
  const { port } = await serve()
  expect(await get(port, first)).toBe('hello')
  const plain = connect(port, '127.0.0.1').on('error', () => {})
  plain.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
  expect((await text(plain).catch(() => '')).startsWith('HTTP')).toBe(false)
})

test('TLS of the last century is refused', async () => {
  const { port } = await serve()
  const versions = { maxVersion: 'TLSv1.1', minVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0' } as const
  const old = connectTls({ port, host: 'localhost', ca: first.cert, ...versions })
  await expect(once(old, 'secureConnect')).rejects.toThrow('alert protocol version')
})

test('a renewed certificate is used by the very next client, and those who are there stay', async () => {
  const { port, tls } = await serve()
  const before = connectTls({ port, ca: first.cert, host: 'localhost' })
  await once(before, 'secureConnect')
  tls.renew(second)
  expect(await get(port, second)).toBe('hello')
  await expect(get(port, first)).rejects.toThrow(/certificate|self-signed/)
  before.write('GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
  expect(await text(before)).toContain('hello')
})

test.each([false, true])(
  'closing waits for no client, whether its handshake is done or not (handed over: %s)',
  async (isHandedOver) => {
    const sockets = new KeptSockets()
    const { port, listener } = await serve({ sockets })
    const silent = connect(port, '127.0.0.1').on('error', () => {})
    silent.resume()
    const idle = connectTls({ port, ca: first.cert, host: 'localhost' }).on('error', () => {})
    idle.resume()
    await once(idle, 'secureConnect')
    sockets.areShared = isHandedOver
    const closed = Promise.all([isClosed(silent), isClosed(idle)])
    await listener[Symbol.asyncDispose]()
    await closed
    expect([silent.destroyed, idle.destroyed]).toEqual([true, true])
  },
  // Node itself gives up a handshake after ten seconds.
  9_000,
)

test('clients that only hold connections make room for others, and one that is being answered stays', async () => {
  const never = vi.fn<() => void>()
  const { port } = await serve({ connections: new ConnectionLimit(2), handler: never })
  const open = async () => {
    const client = connectTls({ port, ca: first.cert, host: 'localhost' }).on('error', () => {})
    onTestFinished(() => void client.destroy())
    client.resume()
    await once(client, 'secureConnect')
    return client
  }
  const asking = await open()
  asking.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await vi.waitUntil(() => never.mock.calls.length === 1)
  const idle = await open()
  const closed = isClosed(idle)
  await open()
  await closed
  expect(asking.destroyed).toBe(false)
})

async function serve(options: Partial<HttpServerOptions> = {}) {
  const tls = new TestTls(first)
  const listener = await listenHttp({
    what: 'the test server',
    bind: { ip: '127.0.0.1', port: 0 },
    handler: (_request, response) => reply(response, 200, {}, 'hello'),
    tls,
    log: silentLogger,
    ...options,
  })
  onTestFinished(() => listener[Symbol.asyncDispose]())
  return { tls, listener, port: listener.address.port }
}

class TestTls implements ServerTls {
  current: ServerTls['current']
  #isNew = false

  constructor(authority: CertificateAuthority) {
    this.current = pairOf(authority)
  }

  renew(authority: CertificateAuthority): void {
    this.current = pairOf(authority)
    this.#isNew = true
  }

  refresh(): boolean {
    const isNew = this.#isNew
    this.#isNew = false
    return isNew
  }
}

function pairOf(authority: CertificateAuthority): ServerTls['current'] {
  const { key, cert } = authority.server()
  return { key: Buffer.from(key), cert: Buffer.from(cert) }
}

/** However: a reset is as good. */
function isClosed(client: Socket): Promise<unknown> {
  return new Promise((resolve) => client.once('close', resolve))
}

function get(port: number, { cert }: CertificateAuthority): Promise<string> {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, ca: cert, agent: false }, (answer) => {
      text(answer).then(resolve, reject)
    })
      .on('error', reject)
      .end()
  })
}
