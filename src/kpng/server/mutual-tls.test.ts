import { credentials } from '@grpc/grpc-js'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { silentLogger } from '../../core/logger.ts'
import { CertificateAuthority } from '../../sources/kube/testing/certificates.ts'
import { TemporaryFolder } from '../../sources/kube/testing/temporary-folder.ts'
import { sampleService, syncedStore } from '../testing/cluster-samples.ts'
import { rawWatch } from '../testing/raw-watch.ts'
import { testServer } from '../testing/test-server.ts'
import { KpngError } from '../kpng-error.ts'
import { openTls } from '../open-tls.ts'
import { TlsSource } from '../../http/tls/tls-source.ts'

let folder: TemporaryFolder
const authority = new CertificateAuthority('ours')
const stranger = new CertificateAuthority('theirs')

beforeAll(async () => {
  folder = await TemporaryFolder.make()
  const server = authority.server()
  await folder.write('server.key', server.key)
  await folder.write('server.crt', server.cert)
  await folder.write('ca.crt', authority.cert)
})

afterAll(async () => {
  await folder?.[Symbol.asyncDispose]()
})

const file = (name: string) => join(folder.path, name)
const serverFiles = () => ({ key: file('server.key'), certificate: file('server.crt'), ca: file('ca.crt') })

async function secureServer() {
  const store = syncedStore()
  store.setService(sampleService('default/web'))
  return testServer(store, { tls: TlsSource.open(serverFiles(), silentLogger) })
}

test('a client with a certificate of our CA is served', async () => {
  await using server = await secureServer()
  const { key, cert } = authority.client('node-a')
  const ssl = credentials.createSsl(Buffer.from(authority.cert), Buffer.from(key), Buffer.from(cert))
  using watch = rawWatch(server.address, { credentials: ssl })
  watch.request('node-a')
  expect(await watch.untilSync()).toEqual(['reset', '+ default/web 80', 'sync'])
})

test('a client without a certificate, with one of somebody else, or without TLS is not', async () => {
  await using server = await secureServer()
  const { key, cert } = stranger.client('node-a')
  const ca = Buffer.from(authority.cert)
  for (const refused of [
    credentials.createSsl(ca),
    credentials.createSsl(ca, Buffer.from(key), Buffer.from(cert)),
    credentials.createInsecure(),
  ]) {
    using watch = rawWatch(server.address, { credentials: refused })
    watch.request('node-a')
    expect(await watch.status()).toMatchObject({ code: 14 })
    expect(watch.pending).toEqual([])
  }
})

test('files that cannot be used are found before anybody connects', async () => {
  const problem = (changes: Partial<ReturnType<typeof serverFiles>>) => {
    try {
      openTls({ ...serverFiles(), ...changes }, silentLogger)
      return 'none'
    } catch (error) {
      return error instanceof KpngError ? `${error.reason}: ${error.message}` : String(error)
    }
  }
  expect(problem({})).toBe('none')
  expect(problem({ key: '' })).toMatch(/^bad-tls: TLS needs a key and a certificate/)
  expect(problem({ ca: file('missing.crt') })).toMatch(/^bad-tls: .*missing\.crt cannot be read/)
  expect(problem({ key: file('ca.crt') })).toMatch(/^bad-tls: .*do not match/)
})
