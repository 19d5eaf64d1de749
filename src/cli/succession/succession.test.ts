import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import type { NodeView } from '../../core/backend.ts'
import { systemClock } from '../../core/clock.ts'
import { RecordingLogger } from '../../core/testing/recording-logger.ts'
import { lackedCapabilities } from '../../dataplane/capabilities.ts'
import { loadLibc } from '../../dataplane/libc/load-libc.ts'
import { descriptorOf } from '../../net/kept-sockets.ts'
import { askAt } from './testing/ask-at.ts'
import { Succession } from './succession.ts'
import type { SuccessionOptions } from './succession.ts'
import { isTrustedHolder, isTrustedNewcomer } from './trusted-peer.ts'

const isLinux = process.platform === 'linux'
const isRoot = process.getuid?.() === 0
const isStrong = isRoot && lackedCapabilities(['CAP_NET_ADMIN']).length === 0
const never = new AbortController().signal
let names = 0

/** Of a proxy that is all in this process; its end closes what the kernel would close if it was killed. */
function optionsFor(name: string, given: Partial<SuccessionOptions> = {}) {
  const log = new RecordingLogger()
  const self = { pid: 42, version: '1.2.3', mode: 'nftables', sinceMs: Date.UTC(2026, 0, 1) }
  const options: SuccessionOptions = {
    self,
    takesOver: false,
    untilReady: () => Promise.resolve(),
    openLibc: loadLibc,
    name,
    clock: systemClock,
    log,
    ...given,
  }
  return { options, log }
}

const freshName = () => `fairlead-test/${process.pid}/${names++}`
const inFamily = { view: { family: 'ipv4' } as unknown as NodeView, change: { full: true, keys: [], causes: [] } }

/** The first sync is done, and what it says to the one before. */
async function serves(succession: Succession, signal = never): Promise<void> {
  const running = succession.run(Promise.resolve(), signal)
  await succession.afterSync(1).run(inFamily as never, signal)
  await running
}

/** Another user, who has so many connections, reads what comes and never closes one. */
async function connectAsNobody(name: string, count: number): Promise<Disposable & { readonly told: string }> {
  const hold = `
    const { connect } = require('node:net')
    let [left, told] = [${count}, '']
    const settled = () => --left === 0 && console.log(told || 'nothing')
    for (let n = 0; n < ${count}; n++)
      connect({ path: '\\0' + ${JSON.stringify(name)}, allowHalfOpen: true })
        .on('data', (line) => (told = String(line)))
        .once('end', settled)
    process.stdin.resume().on('end', () => process.exit())`
  return saying(spawn(process.execPath, ['-e', hold], { uid: 65534, gid: 65534, stdio: ['pipe', 'pipe', 'inherit'] }))
}

/** Runs a script as user 0 that may do nothing. */
function withoutCapabilities(script: string, name: string) {
  const whole = `const name = '\\0' + ${JSON.stringify(name)}
    process.stdin.resume().on('end', () => process.exit())
    ${script}`
  const nothing = ['--bounding-set=-all', '--inh-caps=-all', process.execPath, '-e', whole]
  return saying(spawn('setpriv', nothing, { stdio: ['pipe', 'pipe', 'inherit'] }))
}

async function saying(child: ChildProcessByStdio<Writable, Readable, null>) {
  const [told] = (await once(child.stdout, 'data')) as [Buffer]
  return { told: told.toString(), [Symbol.dispose]: () => void child.kill('SIGKILL') }
}

describe.skipIf(!isLinux)(`the place of a proxy${isLinux ? '' : ' [skipped: only Linux has the sockets]'}`, () => {
  test('the second proxy says who runs, waits for its end and then begins', async () => {
    const name = freshName()
    const first = new Succession()
    await first.begin(optionsFor(name).options, never)
    await using second = new Succession()
    const { options, log } = optionsFor(name, { self: { pid: 43, version: '2', mode: 'iptables', sinceMs: 0 } })
    let hasBegun = false
    const beginning = second.begin(options, never).then(() => (hasBegun = true))
    await vi.waitFor(() => expect(log.lines.map(({ message }) => message)).toHaveLength(1))
    expect(log.lines[0]).toMatchObject({
      level: 'warn',
      message: 'another proxy runs on this node: waiting for its end (--take-over would take its place)',
      fields: { pid: 42, version: '1.2.3', mode: 'nftables', since: '2026-01-01T00:00:00.000Z' },
    })
    expect(hasBegun).toBe(false)
    await first[Symbol.asyncDispose]()
    await beginning
    await using third = new Succession()
    const stop = new AbortController()
    const other = optionsFor(name)
    const waiting = third.begin(other.options, stop.signal)
    await vi.waitFor(() => expect(other.log.lines[0]?.fields).toMatchObject({ pid: 43, mode: 'iptables' }))
    stop.abort(new Error('stopped'))
    await expect(waiting).rejects.toThrow('stopped')
  })

  test('a proxy that takes over gets the sockets, and both answer until it serves', async () => {
    const name = freshName()
    const [first, second] = [new Succession(), new Succession()]
    await first.begin(optionsFor(name).options, never)
    const server = createServer((socket) => socket.end('old')).listen(0, '127.0.0.1')
    await vi.waitFor(() => expect(server.listening).toBe(true))
    const { port } = server.address() as AddressInfo
    const socket = { use: 'web', protocol: 'TCP', ip: '127.0.0.1', port } as const
    // More than one message can carry.
    for (let n = 0; n < 400; n++) first.sockets.opened({ ...socket, use: `${n}`, fd: descriptorOf(server) ?? -1 })
    await second.begin(optionsFor(name, { takesOver: true }).options, never)
    expect([first.retired.aborted, first.sockets.areShared, second.sockets.areShared]).toEqual([false, false, true])
    const fd = second.sockets.take({ ...socket, use: '399' })
    expect(second.sockets.take({ ...socket, use: '398', port: 1 })).toBeUndefined()
    const taken = createServer((client) => client.end('new')).listen({ fd })
    expect(['old', 'new']).toContain(await askAt(port))
    await serves(second)
    await vi.waitFor(() => expect(first.retired.aborted).toBe(true))
    expect([first.sockets.areShared, second.sockets.areShared]).toEqual([true, false])
    server.close()
    for (let n = 0; n < 5; n++) expect(await askAt(port)).toBe('new')
    taken.close()
    await first[Symbol.asyncDispose]()
    // The name has been ours ever since.
    await using third = new Succession()
    const { options, log } = optionsFor(name)
    const stop = new AbortController()
    const waiting = third.begin(options, stop.signal).catch(() => {})
    await vi.waitFor(() => expect(log.lines).toHaveLength(1))
    await second[Symbol.asyncDispose]()
    await waiting
  })

  test('a proxy writes nothing while another one takes over, and goes on if that one ends', async () => {
    const name = freshName()
    await using first = new Succession()
    const { options, log } = optionsFor(name)
    await first.begin(options, never)
    let finishSync = () => {}
    const syncing = first.gate.pass(() => new Promise<void>((resolve) => (finishSync = resolve)), never)
    const second = new Succession()
    let hasBegun = false
    const beginning = second.begin(optionsFor(name, { takesOver: true }).options, never).then(() => (hasBegun = true))
    await vi.waitFor(() => expect(log.lines).toHaveLength(1))
    await sleep(20)
    expect(hasBegun, 'a sync was still running').toBe(false)
    finishSync()
    await Promise.all([syncing, beginning])
    let synced = 0
    const next = first.gate.pass(async () => void synced++, never)
    await sleep(20)
    expect(synced).toBe(0)
    await second[Symbol.asyncDispose]()
    await next
    expect(synced).toBe(1)
    expect(log.lines.at(-1)?.message).toBe('the proxy that was taking over has ended: this one goes on')
    expect([first.retired.aborted, first.sockets.areShared]).toEqual([false, false])
    await using third = new Succession()
    await third.begin(optionsFor(name, { takesOver: true }).options, never)
    await serves(third)
    await vi.waitFor(() => expect(first.retired.aborted).toBe(true))
  })

  test('a proxy that ends while it hands over leaves the other one with what it got', async () => {
    const name = freshName()
    const [first, second] = [new Succession(), new Succession()]
    await first.begin(optionsFor(name).options, never)
    await second.begin(optionsFor(name, { takesOver: true }).options, never)
    await first[Symbol.asyncDispose]()
    await serves(second)
    expect(second.sockets.areShared).toBe(false)
    await using third = new Succession()
    await third.begin(optionsFor(name, { takesOver: true }).options, never)
    await serves(third)
    await vi.waitFor(() => expect(second.retired.aborted).toBe(true))
    await second[Symbol.asyncDispose]()
  })

  test('a proxy that is told to end while another one is about to take over hands over first', async () => {
    const name = freshName()
    const first = new Succession()
    await first.begin(optionsFor(name).options, never)
    let isKnown = () => {}
    const untilReady = () => new Promise<void>((resolve) => (isKnown = resolve))
    await using second = new Succession()
    const beginning = second.begin(optionsFor(name, { takesOver: true, untilReady }).options, never)
    const ending = await vi.waitFor(async () => {
      const told = first.endingAfter(AbortSignal.abort())
      await sleep(20)
      expect(told.aborted, 'somebody is about to take over').toBe(false)
      return told
    })
    isKnown()
    await beginning
    await serves(second)
    await vi.waitFor(() => expect(ending.aborted).toBe(true))
    await first[Symbol.asyncDispose]()
  })

  test('one of another user keeps nobody from starting', async () => {
    const name = freshName()
    await using first = new Succession()
    const libc = await loadLibc()
    const asStranger = {
      ...libc,
      getSocketOption: (_fd: number, _level: number, _option: number, value: Buffer) => {
        value.writeInt32LE(77, 0)
        value.writeUInt32LE(4711, 4)
        return 0
      },
    }
    await first.begin(optionsFor(name).options, never)
    await using second = new Succession()
    const { options, log } = optionsFor(name, { takesOver: true, openLibc: () => Promise.resolve(asStranger) })
    await second.begin(options, never)
    expect(log.lines).toMatchObject([
      {
        level: 'warn',
        message: 'running without a lock: a process that is no proxy of this node holds its name',
        fields: { pid: 77, uid: 4711 },
      },
    ])
  })

  test.skipIf(!isRoot)(
    `strangers who hold connections to the lock block nobody${isRoot ? '' : ' [skipped: only root can be somebody else]'}`,
    async () => {
      // libuv fills such names up.
      const name = freshName().padEnd(107, '\0')
      await using first = new Succession()
      await first.begin(optionsFor(name).options, never)
      using strangers = await connectAsNobody(name, 40)
      await using second = new Succession()
      const { options, log } = optionsFor(name, { takesOver: true })
      await second.begin(options, never)
      await serves(second)
      await vi.waitFor(() => expect(first.retired.aborted).toBe(true))
      expect(log.lines.filter(({ level }) => level === 'warn')).toEqual([])
      expect(strangers.told, 'everybody may know who runs here').toContain('"pid":42')
    },
  )

  test.skipIf(!isStrong)(
    `root without capabilities can neither take over nor keep the lock${isStrong ? '' : ' [skipped: needs root with CAP_NET_ADMIN]'}`,
    async () => {
      const name = freshName().padEnd(107, '\0')
      await using first = new Succession()
      const { options } = optionsFor(name)
      await first.begin(options, never)
      using newcomer = await withoutCapabilities(
        `require('node:net').connect(name).on('error', () => {}).on('close', () => console.log('closed')).resume().write('{"kind":"hand over"}\\n')`,
        name,
      )
      expect(newcomer.told).toBe('closed\n')
      await first.gate.pass(() => Promise.resolve(), never)

      const taken = freshName().padEnd(107, '\0')
      using _holder = await withoutCapabilities(
        `require('node:net').createServer(() => {}).listen(name, () => console.log('listens'))`,
        taken,
      )
      await using second = new Succession()
      const { options: late, log } = optionsFor(taken, { takesOver: true })
      await second.begin(late, never)
      expect(log.lines.map(({ message }) => message)).toEqual([
        'running without a lock: a process that is no proxy of this node holds its name',
      ])
    },
  )

  test('a newcomer that has ended, and left its connection to somebody else, is not trusted', () => {
    const { pid } = spawnSync('true')
    expect(isTrustedNewcomer({ pid, uid: 0 }, 0)).toBe(false)
    expect(isTrustedHolder({ pid, uid: 0 }, 0), 'it may have handed over').toBe(true)
    expect(isTrustedNewcomer({ pid: 0, uid: 0 }, 0), 'in another PID namespace').toBe(true)
    expect(isTrustedNewcomer({ pid: process.pid, uid: 0 }, 0)).toBe(true)
    expect(isTrustedNewcomer({ pid: process.pid, uid: 4711 }, 4711)).toBe(true)
    expect(isTrustedNewcomer({ pid: process.pid, uid: 4711 }, 0)).toBe(false)
  })

  test('one that hangs up on everybody is asked again, but not without a pause', async () => {
    const name = freshName()
    const libc = await loadLibc()
    const { bindAbstract } = await import('./abstract-socket.ts')
    const bound = bindAbstract(libc, name)
    const pauses: number[] = []
    let calls = 0
    const server = createServer((socket) => {
      calls++
      pauses.push(0)
      socket.on('error', () => {}).destroy()
    })
    server.listen({ fd: bound.ok ? bound.fd : -1 })
    const clock: typeof systemClock = {
      ...systemClock,
      sleep: (ms, signal) => {
        pauses.push(ms)
        return systemClock.sleep(ms, signal)
      },
    }
    await using second = new Succession()
    const stop = new AbortController()
    const waiting = second.begin(optionsFor(name, { takesOver: true, clock }).options, stop.signal).catch(() => {})
    await vi.waitFor(() => expect(calls).toBeGreaterThan(2))
    stop.abort()
    await waiting
    server.close()
    const betweenCalls = pauses.slice(pauses.indexOf(0) + 1, pauses.lastIndexOf(0))
    expect(Math.max(...betweenCalls)).toBeGreaterThanOrEqual(50)
  })

  test('without koffi it starts, and says what that means', async () => {
    await using alone = new Succession()
    const { options, log } = optionsFor(freshName(), { openLibc: () => Promise.reject(new Error('no binary')) })
    await alone.begin(options, never)
    expect(log.lines[0]?.message).toBe('running without a lock: koffi, which it needs, cannot be loaded here')
  })

  test('one that speaks another protocol is waited for', async () => {
    const name = freshName()
    const server = createServer((socket) => {
      socket.on('error', () => {})
      socket.write('{"kind":"running","protocol":99,"pid":5,"version":"9.0.0","mode":"ebpf","sinceMs":0}\n')
    })
    const libc = await loadLibc()
    const { bindAbstract } = await import('./abstract-socket.ts')
    const bound = bindAbstract(libc, name)
    server.listen({ fd: bound.ok ? bound.fd : -1 })
    await using second = new Succession()
    const { options, log } = optionsFor(name, { takesOver: true })
    const stop = new AbortController()
    const waiting = second.begin(options, stop.signal).catch(() => {})
    await vi.waitFor(() =>
      expect(log.lines[0]).toMatchObject({
        message: 'the proxy that runs hands over in a way that this version does not know: waiting for its end',
        fields: { version: '9.0.0' },
      }),
    )
    stop.abort()
    await waiting
    server.close()
  })
})
