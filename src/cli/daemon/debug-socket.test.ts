import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { RecordingLogger } from '../../core/testing/recording-logger.ts'
import { usualSocket } from '../ask/server-address.ts'
import { memoryHost } from '../host/testing/memory-host.ts'
import { runAll } from '../run-all.ts'
import { debugSocket } from './debug-socket.ts'

const isWindows = process.platform === 'win32'

test('where the socket is when nobody says', () => {
  const at = (platform: NodeJS.Platform, isRoot: boolean, env = {}) =>
    usualSocket({ platform, env, process: { isRoot } })?.path
  expect(at('linux', true)).toBe('/run/fairlead/fairlead.sock')
  expect(at('linux', false, { XDG_RUNTIME_DIR: '/run/user/7' })).toBe('/run/user/7/fairlead.sock')
  expect(at('linux', false)).toBeUndefined()
  expect(at('linux', false, { XDG_RUNTIME_DIR: 'here' })).toBeUndefined()
  expect(at('win32', true)).toBe(String.raw`\\.\pipe\fairlead`)
})

test.skipIf(isWindows)(
  'a second proxy runs without a socket at the usual place, and ends where it was told one',
  async () => {
    const { start, path, log } = await setUp()
    const first = await start('')
    await vi.waitUntil(() => first.isListening())
    await (
      await start('')
    ).ended
    expect(log.lines.map(({ level, message }) => `${level} ${message}`)).toContain(
      'debug1 running without a debug socket',
    )
    await expect((await start(`unix://${path}`)).ended).rejects.toThrow(
      `cannot listen on unix://${path}: another server uses it, stop that one or choose another path; --debug-socket names another, or none`,
    )
    first.stop()
    await first.ended
    await expect(stat(path)).rejects.toThrow('ENOENT')
  },
)

test.skipIf(isWindows)(
  'a group that was to use the socket at the usual place, and cannot, is worth a warning',
  async () => {
    const { start, log } = await setUp()
    const first = await start('')
    await vi.waitUntil(() => first.isListening())
    const second = await start('', 'proxy')
    await second.ended
    expect(log.at('warn')).toMatchObject([{ message: 'running without a debug socket', fields: { group: 'proxy' } }])
  },
)

test('none is none', async () => {
  const { parts } = await setUp()
  expect(await parts('none')).toEqual([])
})

test.each([
  ['nonsense', '', '--debug-socket=nonsense names no socket: write unix:///PATH, or none'],
  [
    'npipe:////./pipe/x',
    '',
    '--debug-socket=npipe:////./pipe/x cannot be used here: named pipes exist on Windows only',
  ],
  ['/x/y.sock', 'nobody-here', '--debug-socket-group=nobody-here: there is no such group in /etc/group'],
])('--debug-socket=%s --debug-socket-group=%s is refused', async (socket, group, message) => {
  const { parts } = await setUp()
  await expect(parts(socket, group)).rejects.toThrow(message)
})

async function setUp() {
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-debug-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const host = memoryHost({
    env: { XDG_RUNTIME_DIR: folder },
    process: { isRoot: false },
    files: { '/etc/group': 'root:x:0:\nproxy:x:13:\n' },
  })
  const path = join(folder, 'fairlead.sock')
  const log = Object.assign(new RecordingLogger(), { verbosity: 0, setVerbosity() {}, configure() {}, flush() {} })
  const parts = (socket: string, group = '') =>
    debugSocket({ debugSocket: socket, debugSocketGroup: group, host, log, pages: [] })
  const start = async (socket: string, group = '') => {
    const stop = new AbortController()
    onTestFinished(() => stop.abort())
    const ended = runAll(await parts(socket, group), stop.signal)
    ended.catch(() => {})
    const isListening = () => log.lines.some(({ message }) => message === 'listening')
    return { ended, isListening, stop: () => stop.abort() }
  }
  return { path, log, parts, start }
}
