import { chmod, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { silentLogger } from '../../../core/logger.ts'
import type { LocalSocket } from '../../../http/local-socket.ts'
import { rawRequest } from '../testing/raw-request.ts'
import { reply } from '../reply.ts'
import { openDebugSocket } from './debug-socket.ts'
import type { DebugSocketOptions } from './debug-socket.ts'

const isWindows = process.platform === 'win32'

test.skipIf(isWindows)('the socket and the folder that was made for it are for the owner only', async () => {
  const folder = join(await temporaryFolder(), 'made')
  const socket = unix(join(folder, 'a.sock'))
  await using open = await listen({ socket })
  void open
  expect((await stat(folder)).mode & 0o777).toBe(0o700)
  expect((await stat(socket.path)).mode & 0o777).toBe(0o600)
  expect(await ask(socket)).toBe('hello')
})

test.skipIf(isWindows)('a folder that was there keeps its mode', async () => {
  const folder = await temporaryFolder()
  await chmod(folder, 0o755)
  await using open = await listen({ socket: unix(join(folder, 'a.sock')) })
  void open
  expect((await stat(folder)).mode & 0o777).toBe(0o755)
})

test.skipIf(process.getuid?.() !== 0)('a group may be let in (as root)', async () => {
  const folder = join(await temporaryFolder(), 'made')
  const socket = unix(join(folder, 'a.sock'))
  await using open = await listen({ socket, groupId: 4711 })
  void open
  for (const [path, mode] of [
    [folder, 0o750],
    [socket.path, 0o660],
  ] as const) {
    const found = await stat(path)
    expect([found.gid, found.mode & 0o777]).toEqual([4711, mode])
  }
})

test.skipIf(isWindows)('the file of a dead server makes way, a live one and other files do not', async () => {
  const folder = await temporaryFolder()
  const socket = unix(join(folder, 'a.sock'))
  await leaveBehind(socket.path)
  const open = await listen({ socket })
  await expect(listen({ socket })).rejects.toMatchObject({ reason: 'in-use', message: inUse(socket) })
  expect(await ask(socket)).toBe('hello')
  await open[Symbol.asyncDispose]()
  await expect(stat(socket.path)).rejects.toThrow('ENOENT')
  await writeFile(socket.path, 'precious')
  await expect(listen({ socket })).rejects.toMatchObject({ reason: 'in-use' })
})

test.skipIf(isWindows)('where no folder can be made, the error says where', async () => {
  const folder = await temporaryFolder()
  await writeFile(join(folder, 'file'), '')
  const socket = unix(join(folder, 'file', 'a.sock'))
  await expect(listen({ socket })).rejects.toMatchObject({
    reason: 'failed',
    message: expect.stringContaining(socket.path) as string,
  })
})

test.skipIf(isWindows)('a web page that is passed on gets no answer', async () => {
  const socket = unix(join(await temporaryFolder(), 'a.sock'))
  await using open = await listen({ socket })
  void open
  const headers = { Origin: 'https://page.example' }
  expect(await ask(socket, headers)).toContain('forbidden')
})

const unix = (path: string): LocalSocket => ({ kind: 'unix', path })

const inUse = ({ path }: LocalSocket) =>
  `cannot listen on unix://${path}: another server uses it, stop that one or choose another path; --debug-socket names another, or none`

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-socket-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return folder
}

function listen(options: Pick<DebugSocketOptions, 'socket'> & Partial<DebugSocketOptions>): Promise<AsyncDisposable> {
  return openDebugSocket({
    groupId: undefined,
    handler: (_request, response) => reply(response, 200, {}, 'hello'),
    maxConnections: 4,
    log: silentLogger,
    ...options,
  })
}

async function ask({ path }: LocalSocket, headers = {}): Promise<string> {
  return (await rawRequest({ ip: '', port: 0 }, '/', { headers, socketPath: path })).body
}

/** A process that ends without closing its server leaves the file. */
async function leaveBehind(path: string): Promise<void> {
  const { execFileSync } = await import('node:child_process')
  const script = `require('node:net').createServer().listen(process.argv[1], () => process.kill(process.pid, 'SIGKILL'))`
  try {
    execFileSync(process.execPath, ['-e', script, path], { stdio: 'ignore' })
  } catch {
    // killed, as it should be
  }
  expect((await stat(path)).isSocket()).toBe(true)
}
