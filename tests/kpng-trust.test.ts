/** Who may follow a core, and whom a backend believes: real TLS, and addresses that are not loopback. */
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { machineAddresses } from '../src/cli/kpng/machine-addresses.ts'
import { CertificateAuthority } from '../src/sources/kube/testing/certificates.ts'
import { TemporaryFolder } from '../src/sources/kube/testing/temporary-folder.ts'
import { freePorts } from './cluster/testing/free-ports.ts'
import { FairleadProcess, runFairlead } from './e2e/testing/fairlead-process.ts'
import { manifest, service, slice } from './e2e/testing/objects.ts'

const ownAddress = machineAddresses(networkInterfaces()).find((address) => !address.includes(':'))
const withoutAddress = ownAddress === undefined ? ' [skipped: this machine has no IPv4 address but loopback]' : ''
const print = ['--once', '--node-name=node1']

let folder: TemporaryFolder
const authority = new CertificateAuthority('ours')

beforeAll(async () => {
  folder = await TemporaryFolder.make()
  const server = authority.server('127.0.0.1', 'localhost', ownAddress ?? '127.0.0.2')
  const client = authority.client('node1')
  await folder.write('server.key', server.key)
  await folder.write('server.crt', server.cert)
  await folder.write('client.key', client.key)
  await folder.write('client.crt', client.cert)
  await folder.write('ca.crt', authority.cert)
  await folder.write('empty.crt', '')
  await folder.write('web.yaml', manifest(service('web', 80, { clusterIP: '10.96.0.10' }), slice('web', 8080)))
})

afterAll(async () => {
  await folder?.[Symbol.asyncDispose]()
})

const file = (name: string) => join(folder.path, name)
const keyAndCertificate = () => [`--listen-tls-key=${file('server.key')}`, `--listen-tls-crt=${file('server.crt')}`]
const ca = () => `--listen-tls-ca=${file('ca.crt')}`
const clientFiles = () => [
  `--api-client-tls-key=${file('client.key')}`,
  `--api-client-tls-crt=${file('client.crt')}`,
  `--api-client-tls-ca=${file('ca.crt')}`,
]

async function startCore(...args: readonly string[]): Promise<FairleadProcess> {
  const core = new FairleadProcess(['file', 'to-api', `--input=${file('web.yaml')}`, ...args])
  await core.says('serving the KPNG API')
  return core
}

describe('a core with TLS', () => {
  test('must say whose certificates it believes: the public CAs would give one to anybody', async () => {
    const listen = ['--listen=tcp://127.0.0.1:0', ...keyAndCertificate()]
    // Our CA plays a public one.
    const { code, stderr } = await runFairlead(['file', 'to-api', `--input=${file('web.yaml')}`, ...listen], {
      env: { NODE_EXTRA_CA_CERTS: file('ca.crt') },
    })
    expect(stderr).toContain('--listen-tls-ca')
    expect(code).toBe(1)
  })

  test('is not content with a file that holds no CA', async () => {
    const listen = ['--listen=tcp://127.0.0.1:0', ...keyAndCertificate(), `--listen-tls-ca=${file('empty.crt')}`]
    const { code, stderr } = await runFairlead(['file', 'to-api', `--input=${file('web.yaml')}`, ...listen])
    expect(stderr).toContain('empty.crt holds no certificate')
    expect(code).toBe(1)
  })
})

describe('a backend', () => {
  test.each([
    ['to-local', '192.0.2.1:12090', 'tcp://192.0.2.1:12090'],
    ['to-exec', 'dns:///core.example:12090', 'tcp://core.example:12090'],
    ['to-module', 'tcp://core.example:12090', 'tcp://core.example:12090'],
    ['to-api', '[2001:db8::1]:12090', 'tcp://[2001:db8::1]:12090'],
    ['to-file', 'localhost.example:1', 'tcp://localhost.example:1'],
    ['to-userspace', '192.0.2.1:12090', 'tcp://192.0.2.1:12090'],
  ])('%s does not follow %s without TLS', async (sink, api, place) => {
    const { code, stderr } = await runFairlead(['api', sink, `--api=${api}`, '--', '/bin/true'])
    expect(stderr).toContain(`refusing to follow the cluster's state in plaintext from ${place}: give TLS files`)
    expect(stderr).toContain('--allow-plaintext')
    expect(code).toBe(1)
  })

  test('does not send what is meant for this machine through a proxy of the environment', async () => {
    const { port } = await freePorts('port')
    await using core = await startCore(`--listen=tcp://127.0.0.1:${port}`)
    let asked = 0
    const proxy = createServer((_request, response) => {
      asked++
      response.writeHead(502).end()
    })
    proxy.on('connect', (_request, socket) => {
      asked++
      socket.end('HTTP/1.1 502 no\r\n\r\n')
    })
    proxy.listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
    const { stdout } = await runFairlead(['api', 'to-local', `--api=127.0.0.1:${port}`, ...print], {
      env: { http_proxy: url, https_proxy: url, grpc_proxy: url, no_proxy: '', no_grpc_proxy: '' },
    })
    proxy.close()
    expect(stdout).toContain('+ default/web {')
    expect(asked).toBe(0)
    void core
  })
})

describe.skipIf(ownAddress === undefined)(`on an address that others can reach${withoutAddress}`, () => {
  test('a backend follows in plaintext only when both sides say so', async () => {
    const { port } = await freePorts('port')
    await using core = await startCore(`--listen=tcp://${ownAddress}:${port}`, '--allow-plaintext')
    const follow = ['api', 'to-local', `--api=${ownAddress}:${port}`, ...print]
    const refused = await runFairlead(follow)
    expect(refused.stderr).toContain(`in plaintext from tcp://${ownAddress}:${port}`)
    expect(refused.stdout).toBe('')
    const { stdout, code } = await runFairlead([...follow, '--allow-plaintext'])
    expect(stdout).toContain('+ default/web {')
    expect(code).toBe(0)
    void core
  })

  test('with TLS it needs no such word', async () => {
    const { port } = await freePorts('port')
    await using core = await startCore(`--listen=tcp://${ownAddress}:${port}`, ...keyAndCertificate(), ca())
    const { stdout, code } = await runFairlead([
      'api',
      'to-local',
      `--api=${ownAddress}:${port}`,
      ...clientFiles(),
      ...print,
    ])
    expect(stdout).toContain('+ default/web {')
    expect(code).toBe(0)
    void core
  })
})
