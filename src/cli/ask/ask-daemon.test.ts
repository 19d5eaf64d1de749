import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { silentLogger } from '../../core/logger.ts'
import { debugHandler, limitsOnPort, limitsOnSocket } from '../../observe/http/debug/debug-handler.ts'
import type { DebugPage } from '../../observe/http/debug/debug-page.ts'
import { openDebugSocket } from '../../observe/http/debug/debug-socket.ts'
import { askDaemon, askForJson } from './ask-daemon.ts'
import type { AskingHost } from './ask-daemon.ts'

const isWindows = process.platform === 'win32'
const pages: readonly DebugPage[] = [
  { path: '/debug/echo', about: 'a page', answer: async ({ query }) => ({ kind: 'json', value: query.get('say') }) },
  { path: '/debug/text', about: 'a page', answer: async () => ({ kind: 'text', text: 'plain' }) },
  {
    path: '/debug/no',
    about: 'a page',
    answer: async () => ({ kind: 'refused', status: 404, message: 'there is no such Service' }),
  },
  { path: '/debug/bad', about: 'a page', answer: () => Promise.reject(new Error('broken')) },
]
const never = new AbortController().signal

test('a proxy is asked over HTTP', async () => {
  const server = await proxyOnPort()
  expect(await ask('/debug/echo', server, { say: 'a & b' })).toEqual({ kind: 'json', value: 'a & b' })
  expect(await ask('/debug/text', server)).toEqual({ kind: 'text', text: 'plain\n' })
  expect(await ask('/debug/no', server)).toEqual({ kind: 'refused', status: 404, message: 'there is no such Service' })
  await expect(askForJson('/debug/no', {}, { server, host: host() }, never)).rejects.toThrow('there is no such Service')
  await expect(ask('/debug/bad', server)).rejects.toThrow('internal error, see the log (HTTP 500)')
})

test('whoever answers does not steer the terminal', async () => {
  const server = await proxyOnPort()
  expect(await ask('/debug/echo', server, { say: '\u001B[2J' })).toEqual({
    kind: 'json',
    value: String.raw`\u001b[2J`,
  })
})

test.skipIf(isWindows)('a proxy is asked over its socket, which is looked for where the user has one', async () => {
  const XDG_RUNTIME_DIR = await folder()
  const path = await proxyOnSocket(join(XDG_RUNTIME_DIR, 'fairlead.sock'))
  expect(await ask('/debug/text', `unix://${path}`)).toEqual({ kind: 'text', text: 'plain\n' })
  const found = await askDaemon('/debug/text', {}, { server: '', host: host({ env: { XDG_RUNTIME_DIR } }) }, never)
  expect(found).toEqual({ kind: 'text', text: 'plain\n' })
})

test('too many questions are asked again, once, after the time that the proxy names', async () => {
  const clock = new FakeClock()
  const server = await proxyOnPort({ clock, burst: 1 })
  await ask('/debug/text', server)
  const asked = askDaemon('/debug/text', {}, { server, host: host({ clock }) }, never)
  await vi.waitUntil(() => clock.sleeping === 1)
  await clock.advance(1000)
  expect(await asked).toEqual({ kind: 'text', text: 'plain\n' })
})

test('who is not there is told with the way out', async () => {
  const server = await proxyOnPort({ isClosed: true })
  await expect(ask('/debug/text', server)).rejects.toThrow(
    `cannot ask ${server}: no proxy is there; start one, or name another with --server`,
  )
})

test.skipIf(isWindows)('a socket that is not there, likewise', async () => {
  await expect(ask('/debug/text', `unix://${await folder()}/x.sock`)).rejects.toThrow('no proxy is there; start one')
})

test.skipIf(isWindows)('who may not use the socket is told how to', async () => {
  const path = await proxyOnSocket(join(await folder(), 'a.sock'))
  await chmod(path, 0)
  const error = await asSomebody(path)
  expect(error).toContain('not permitted; use sudo, join the group of its --debug-socket-group, or ask over HTTP')
})

test('another program is told from a proxy', async () => {
  const server = await serve((_request, response) => response.writeHead(404).end('404 page not found\n'))
  await expect(ask('/debug/text', server)).rejects.toThrow(
    `what answers at ${server} is not Fairlead, or an older one (HTTP 404): name the proxy with --server`,
  )
})

test.each([
  ['ftp://127.0.0.1', 'names no proxy'],
  ['nonsense', 'names no proxy'],
  ['npipe:////./pipe/x', 'named pipes exist on Windows only'],
])('--server=%s is refused: it %s', async (server, expected) => {
  const asked = askDaemon('/debug/text', {}, { server, host: host({ platform: 'linux' }) }, never)
  await expect(asked).rejects.toThrow(expected)
})

function ask(path: string, server: string, query: Readonly<Record<string, string>> = {}) {
  return askDaemon(path, query, { server, host: host() }, never)
}

function host(given: Partial<AskingHost> = {}): AskingHost {
  return { platform: process.platform, env: {}, clock: new FakeClock(), process: { isRoot: false }, ...given }
}

async function proxyOnPort({ clock = new FakeClock(), burst = 100, isClosed = false } = {}): Promise<string> {
  const limits = { ...limitsOnPort, rate: { burst, perSecond: 1 } }
  const handler = debugHandler({ pages, limits, clock, log: silentLogger })
  return serve((request, response) => void handler(request, response), isClosed)
}

async function serve(listener: RequestListener, isClosed = false): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = () => {
    server.close()
    server.closeAllConnections()
  }
  const { port } = server.address() as AddressInfo
  if (isClosed) close()
  else onTestFinished(close)
  return `http://127.0.0.1:${port}`
}

async function proxyOnSocket(path: string): Promise<string> {
  const handler = debugHandler({ pages, limits: limitsOnSocket, clock: new FakeClock(), log: silentLogger })
  const socket = { kind: 'unix', path } as const
  const open = await openDebugSocket({ socket, groupId: undefined, handler, maxConnections: 4, log: silentLogger })
  onTestFinished(() => open[Symbol.asyncDispose]())
  return path
}

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'fairlead-ask-'))
  onTestFinished(() => rm(path, { recursive: true }))
  return path
}

/** Root may use every socket, so as root another user asks. */
async function asSomebody(path: string): Promise<string> {
  const before = process.geteuid?.()
  if (before === 0) process.seteuid?.(65_534)
  try {
    await ask('/debug/text', `unix://${path}`)
    return 'answered'
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  } finally {
    if (before === 0) process.seteuid?.(0)
  }
}
