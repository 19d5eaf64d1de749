/** Certificates are replaced while core and backend run. The handshakes are real. */
import { credentials } from '@grpc/grpc-js'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { silentLogger } from '../../core/logger.ts'
import type { Logger } from '../../core/logger.ts'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { CertificateAuthority } from '../../sources/kube/testing/certificates.ts'
import { TemporaryFolder } from '../../sources/kube/testing/temporary-folder.ts'
import { WatchClient } from '../client/watch-client.ts'
import { sampleService, syncedStore } from '../testing/cluster-samples.ts'
import { rawWatch } from '../testing/raw-watch.ts'
import { testServer } from '../testing/test-server.ts'
import { TlsSource } from '../../http/tls/tls-source.ts'

const first = new CertificateAuthority('first')
const second = new CertificateAuthority('second')

/** The files of one side. */
class Files implements AsyncDisposable {
  readonly #folder: TemporaryFolder

  private constructor(folder: TemporaryFolder) {
    this.#folder = folder
  }

  static async of(authority: CertificateAuthority, side: 'server' | 'client'): Promise<Files> {
    const files = new Files(await TemporaryFolder.make())
    await files.replace(authority, side)
    return files
  }

  get paths() {
    const path = (name: string) => join(this.#folder.path, name)
    return { key: path('tls.key'), certificate: path('tls.crt'), ca: path('ca.crt') }
  }

  /** `between` runs when the key is new and the certificate is old. */
  async replace(
    authority: CertificateAuthority,
    side: 'server' | 'client',
    between: () => Promise<void> = () => Promise.resolve(),
  ): Promise<void> {
    const { key, cert } = side === 'server' ? authority.server() : authority.client('node-a')
    await this.#folder.write('ca.crt', authority.cert)
    await this.#folder.write('tls.key', key)
    await between()
    await this.#folder.write('tls.crt', cert)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#folder[Symbol.asyncDispose]()
  }
}

function webStore() {
  const store = syncedStore()
  store.setService(sampleService('default/web'))
  store.commit()
  return store
}

async function clientOf(authority: CertificateAuthority, address: string) {
  const { key, cert } = authority.client('node-a')
  const ssl = credentials.createSsl(Buffer.from(authority.cert), Buffer.from(key), Buffer.from(cert))
  return rawWatch(address, { credentials: ssl })
}

/** Whether a client of this authority is served. */
async function isServed(authority: CertificateAuthority, address: string): Promise<boolean> {
  using watch = await clientOf(authority, address)
  watch.request('node-a')
  return await Promise.race([watch.untilSync().then(() => true), watch.status().then(() => false)])
}

test('a server takes up new files for new connections, and the old ones go on', async () => {
  await using files = await Files.of(first, 'server')
  const clock = new FakeClock()
  const store = webStore()
  await using server = await testServer(store, { tls: TlsSource.open(files.paths, silentLogger), clock })
  using old = await clientOf(first, server.address)
  old.request('node-a')
  await old.untilSync()
  await files.replace(second, 'server')
  expect(await isServed(second, server.address)).toBe(false)

  await clock.advance(10_000)
  await expect.poll(() => isServed(second, server.address), patiently).toBe(true)
  expect(await isServed(first, server.address)).toBe(false)
  old.request('node-a')
  store.setService(sampleService('default/web', { port: 81 }))
  store.commit()
  await clock.advance(1000)
  expect(await old.untilSync()).toEqual(['+ default/web 81', 'sync'])
})

test('a key that has come without its certificate changes nothing, and is reported once', async () => {
  await using files = await Files.of(first, 'server')
  const warnings: string[] = []
  const log: Logger = { ...silentLogger, warn: (message) => warnings.push(message) }
  const source = TlsSource.open(files.paths, log)
  const before = source?.current
  await files.replace(second, 'server', async () => {
    for (let i = 0; i < 3; i++) expect(source?.refresh()).toBe(false)
  })
  expect(source?.current).toBe(before)
  expect(warnings).toEqual(['the new TLS files cannot be used; the previous ones stay in use'])
  expect(source?.refresh()).toBe(true)
  expect(source?.refresh()).toBe(false)
  expect(source?.current.ca?.toString()).toBe(second.cert)
})

test('a backend comes back with new files after those of both sides were replaced', async () => {
  await using serverFiles = await Files.of(first, 'server')
  await using clientFiles = await Files.of(first, 'client')
  const startServer = async (servicePort: number, port: number) => {
    const store = syncedStore()
    store.setService(sampleService('default/web', { port: servicePort }))
    store.commit()
    const bind = { kind: 'tcp', host: '127.0.0.1', port } as const
    return testServer(store, { bind, tls: TlsSource.open(serverFiles.paths, silentLogger) })
  }
  const server = await startServer(80, 0)
  const port = Number(server.address.split(':').at(-1))
  const client = new WatchClient({
    target: server.address,
    tls: TlsSource.open(clientFiles.paths, silentLogger),
    allowsPlaintext: false,
    maxMessageBytes: 4 << 20,
    clock: systemClock,
    random: () => 0,
    log: silentLogger,
  })
  const stop = new AbortController()
  const changeSets: number[] = []
  const watch = { api: 'local', node: 'node-a', wantsUnscoped: false } as const
  const running = client.follow(watch, ({ sets }) => void changeSets.push(sets.length), stop.signal)
  await expect.poll(() => changeSets, patiently).toEqual([1])

  await server[Symbol.asyncDispose]()
  await serverFiles.replace(second, 'server')
  await using again = await startServer(81, port)
  await expect.poll(() => client.status().isConnected, patiently).toBe(false)
  await clientFiles.replace(second, 'client')
  await expect.poll(() => changeSets, patiently).toEqual([1, 1])
  stop.abort()
  await running
  void again
})

const patiently = { timeout: 20_000, interval: 100 }
