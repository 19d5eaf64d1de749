/** The console as the daemon opens it: from its flags, with real files and sockets. */
import { once } from 'node:events'
import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { request as requestTls } from 'node:https'
import { connect } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { KeptSockets } from '../../net/kept-sockets.ts'
import type { LiveTopic } from '../../observe/console/live-topic.ts'
import { rawRequest } from '../../observe/http/testing/raw-request.ts'
import { CertificateAuthority } from '../../sources/kube/testing/certificates.ts'
import { TemporaryFolder } from '../../sources/kube/testing/temporary-folder.ts'
import { freePort } from '../demo/free-port.ts'
import { memoryHost } from '../host/testing/memory-host.ts'
import { runAll } from '../run-all.ts'
import { daemonConsole } from './console.ts'
import { openConsoleDoor } from '../console/console-door.ts'
import type { Daemon } from './daemon.ts'
import { memoryDaemon } from './testing/memory-daemon.ts'

const overview: LiveTopic = { name: 'overview', follow: () => ({ [Symbol.dispose]() {} }) }

test('without the flag there is nothing', async () => {
  const daemon = await memoryDaemon()
  expect(daemonConsole({ ...parts(daemon), door: openConsoleDoor(daemon) })).toEqual([])
})

test('it says where it is, who it is, and what can be followed', async () => {
  const console = await start()
  expect(console.log.at('info')).toMatchObject([
    { message: 'the console is served', fields: { url: `http://127.0.0.1:${console.port}` } },
  ])
  const stream = await follow(console.port)
  await vi.waitUntil(() => stream.received().includes('\n\n'))
  expect(JSON.parse(/data: (.*)/.exec(stream.received())?.[1] ?? '')).toMatchObject({
    kind: 'node',
    isDemo: false,
    nodeName: 'node-1',
    mode: 'userspace',
    families: ['ipv4'],
    topics: ['overview'],
    debugPages: ['/debug/x'],
  })
})

test('another process is another one, under the same address', async () => {
  const seen = new Set<string>()
  for (let i = 0; i < 2; i++) {
    const console = await start()
    const stream = await follow(console.port)
    await vi.waitUntil(() => stream.received().includes('"process":'))
    seen.add(/"process":"([^"]+)"/.exec(stream.received())?.[1] ?? '')
  }
  expect(seen.size).toBe(2)
})

test('the demo adds what it has, and is told where it is', async () => {
  const listening: string[] = []
  const console = await start([], {
    consoleDemo: {
      topics: [{ ...overview, name: 'demo' }],
      act: () => Promise.resolve('no such button'),
      onListening: (url) => void listening.push(url),
    },
  })
  expect(listening).toEqual([`http://127.0.0.1:${console.port}`])
  const stream = await follow(console.port)
  await vi.waitUntil(() => stream.received().includes('"isDemo":true'))
  expect(stream.received()).toContain('"topics":["overview","demo"]')
  const headers = { 'content-type': 'application/json' }
  const bind = { ip: '127.0.0.1', port: console.port }
  expect(await rawRequest(bind, '/api/demo', { method: 'POST', headers, body: '{}' })).toMatchObject({
    status: 400,
    body: 'no such button\n',
  })
})

test('it ends at once, although somebody looks', async () => {
  const console = await start()
  const stream = await follow(console.port)
  const ended = once(stream.answer, 'end')
  await console.stop()
  await ended
  await expect(follow(console.port)).rejects.toThrow('ECONNREFUSED')
})

test('who takes over gets its socket, and streams do not delay that', async () => {
  const sockets = new KeptSockets()
  const console = await start([], {}, sockets)
  // As a browser: it would use the connection again.
  const browser = connect(console.port, '127.0.0.1')
  browser.write('GET /api/live HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await once(browser, 'data')
  const ended = once(browser.resume(), 'end')
  // Windows hands over nothing.
  const kept = process.platform === 'win32' ? [] : [{ protocol: 'TCP', port: console.port }]
  expect(sockets.open).toMatchObject(kept)
  sockets.areShared = true
  // Whoever waits for an answer is given some time then. A stream is no answer: it ends, and no time need pass.
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  await console.stop()
  await ended
  expect(sockets.open).toEqual([])
})

test('with TLS, certificate and token are used as they are now', async () => {
  await using folder = await TemporaryFolder.make()
  const [before, after] = [new CertificateAuthority('first'), new CertificateAuthority('second')]
  const write = async (authority: CertificateAuthority, token: string) => {
    const { key, cert } = authority.server()
    await folder.write('tls.key', key)
    await folder.write('tls.crt', cert)
    return folder.write('token', token)
  }
  const token = await write(before, 'a'.repeat(32))
  const clock = new FakeClock()
  const files = [
    `--console-tls-cert-file=${folder.path}/tls.crt`,
    `--console-tls-private-key-file=${folder.path}/tls.key`,
    `--console-token-file=${token}`,
  ]
  const console = await start(files, { host: memoryHost({ clock }) })
  const login = (authority: CertificateAuthority, given: string) => logIn(console.port, authority, given)
  expect(console.log.at('info')).toMatchObject([{ fields: { url: `https://127.0.0.1:${console.port}` } }])
  expect(await login(before, 'a'.repeat(32))).toEqual([204, expect.stringMatching(/; SameSite=Strict; Secure$/)])
  await write(after, 'b'.repeat(32))
  await clock.advance(1000)
  expect(await login(after, 'b'.repeat(32))).toEqual([204, expect.stringContaining('Secure')])
  expect(await login(after, 'a'.repeat(32))).toEqual([401, undefined])
  await expect(login(before, 'b'.repeat(32))).rejects.toThrow('certificate')
})

test('what is wrong with the files shows at the start', async () => {
  await using folder = await TemporaryFolder.make()
  const bad = await folder.write('bad', 'x')
  const opened = async (...flags: string[]) =>
    openConsoleDoor(await memoryDaemon({ flags: ['--console-bind-address=127.0.0.1:0', ...flags] }))
  await expect(opened(`--console-token-file=${bad}`)).rejects.toThrow('has a token of 1 characters')
  await expect(
    opened(`--console-tls-cert-file=${bad}`, `--console-tls-private-key-file=${folder.path}/missing`),
  ).rejects.toThrow(
    /^the console has no TLS: the TLS file .*missing cannot be read: ENOENT.*; mend what --console-tls-cert-file and/,
  )
  await expect(opened(`--console-tls-cert-file=${bad}`, `--console-tls-private-key-file=${bad}`)).rejects.toThrow(
    `the TLS files ${bad} ${bad} do not match: `,
  )
})

async function start(flags: readonly string[] = [], more: Partial<Daemon> = {}, sockets = new KeptSockets()) {
  const port = await freePort('127.0.0.1')
  const memory = await memoryDaemon({
    flags: ['--proxy-mode=userspace', `--console-bind-address=127.0.0.1:${port}`, ...flags],
  })
  const daemon = { ...memory, ...more }
  const stop = new AbortController()
  const runnable = daemonConsole({ ...parts(daemon), sockets, door: openConsoleDoor(daemon) })
  const ended = runAll(runnable, stop.signal)
  onTestFinished(async () => {
    stop.abort()
    await ended
  })
  await vi.waitUntil(() => memory.log.at('info').length > 0)
  return {
    port,
    log: memory.log,
    stop() {
      stop.abort()
      return ended
    },
  }
}

function parts(daemon: Daemon) {
  const page = { path: '/debug/x', about: 'x', answer: () => Promise.reject(new Error('unused')) }
  return {
    daemon,
    nodeName: 'node-1',
    families: ['ipv4'],
    topics: [overview],
    pages: [page],
    sockets: new KeptSockets(),
  } as const
}

function follow(port: number) {
  return new Promise<{ answer: IncomingMessage; received: () => string }>((resolve, reject) => {
    const sent = request({ port, path: '/api/live?topic=overview', agent: false }, (answer) => {
      let received = ''
      answer.setEncoding('utf8').on('data', (chunk: string) => (received += chunk))
      answer.on('error', () => {})
      onTestFinished(() => void answer.destroy())
      resolve({ answer, received: () => received })
    })
    sent.on('error', reject).end()
  })
}

function logIn(port: number, { cert }: CertificateAuthority, token: string) {
  return new Promise<readonly [number | undefined, string | undefined]>((resolve, reject) => {
    const headers = { 'content-type': 'application/json' }
    const target = { host: '127.0.0.1', port, path: '/api/login', method: 'POST', headers, ca: cert, agent: false }
    requestTls(target, (answer) => resolve([answer.resume().statusCode, answer.headers['set-cookie']?.[0]]))
      .on('error', reject)
      .end(JSON.stringify({ token }))
  })
}
