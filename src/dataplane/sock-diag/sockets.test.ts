import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, read, readlinkSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { TemporaryFolder } from '../../sources/kube/testing/temporary-folder.ts'
import { loadLibc } from '../libc/load-libc.ts'
import type { Libc } from '../libc/load-libc.ts'
import { enterFreshNamespace, missingForNamespace } from '../netlink/testing/network-namespace.ts'
import { MemorySockets } from './memory-sockets.ts'
import { NetlinkSockets } from './netlink-sockets.ts'
import { socketsContract } from './sockets.contract.ts'
import type { ConnectedSocket } from './sockets.ts'
import { compileNamespaceWorker } from './testing/compile-namespace-worker.ts'
import { connectUdp, inNamespace, NamedNamespaces } from './testing/named-namespaces.ts'

const { signal } = new AbortController()

socketsContract('MemorySockets', async () => {
  const sockets = new MemorySockets({ own: 1n })
  sockets.unreachable.add(3n)
  let cookies = 0n
  return {
    sockets,
    unreachable: 3n,
    connect(where, _, ip, port) {
      const cookie = ++cookies
      const socket: ConnectedSocket = { cookie, netns: where === 'here' ? 1n : 2n, protocol: 'UDP', ip, port }
      sockets.connect(socket)
      return {
        ...socket,
        isConnected: () => sockets.connected().includes(socket),
        [Symbol.dispose]: () => sockets.close(cookie),
      }
    },
  }
})

const missing = missingForNamespace('ip', 'setpriv')
describe.skipIf(missing !== undefined)(`on the kernel${missing === undefined ? '' : ` (skipped: ${missing})`}`, () => {
  let libc: Libc
  let sockets: NetlinkSockets
  let namespaces: NamedNamespaces
  let worker: Awaited<ReturnType<typeof compileNamespaceWorker>>
  beforeAll(async () => {
    enterFreshNamespace()
    libc = await loadLibc()
    worker = await compileNamespaceWorker()
    sockets = new NetlinkSockets({ libc, program: worker.program })
    namespaces = new NamedNamespaces(50)
  })
  afterAll(async () => {
    namespaces[Symbol.dispose]()
    await worker[Symbol.asyncDispose]()
  })

  const elsewhere = () => namespaces.names[0] ?? ''

  socketsContract('NetlinkSockets', async () => ({
    sockets,
    unreachable: 2n ** 60n,
    connect: (where, ...args) =>
      where === 'here' ? connectUdp(libc, ...args) : inNamespace(libc, elsewhere(), () => connectUdp(libc, ...args)),
  }))

  test.each([
    ['others', 'everything is seen, and may be entered', { named: true, process: true }, 'all'],
    ['others', 'names are seen, and processes hide theirs', { named: true, process: true }, '-all,+sys_admin'],
    ['hidden', 'processes hide theirs, and there are no names', { process: true }, '-all,+sys_admin'],
    ['alone', 'all processes are in its own namespace', { process: true }, 'all'],
    ['alone', 'there are no pods yet', {}, '-all,+sys_admin'],
    ['alone', 'a name is left whose namespace has ended', { leftover: true }, '-all,+sys_admin'],
    ['forbidden', 'no namespace may be entered', { named: true, process: true }, '-all,+sys_ptrace'],
  ] as const)('a process reaches "%s" where %s', async (reach, _, seen, capabilities) => {
    await using folder = await TemporaryFolder.make()
    const folders = { procFolder: join(folder.path, 'proc'), namedFolder: join(folder.path, 'named') }
    for (const path of Object.values(folders)) mkdirSync(path)
    using pod = processOfRoot()
    if ('process' in seen) symlinkSync(`/proc/${pod.pid}`, join(folders.procFolder, String(pod.pid)))
    if ('named' in seen) symlinkSync(`/run/netns/${elsewhere()}`, join(folders.namedFolder, 'pod'))
    if ('leftover' in seen) writeFileSync(join(folders.namedFolder, 'pod'), '')
    expect(reachOf({ program: worker.program, folders, capabilities })).toBe(reach)
  })

  test('a program that waits for an answer is woken with an error', async () => {
    using socket = inNamespace(libc, elsewhere(), () => connectUdp(libc, 'ipv4', '127.0.0.1', 7001))
    const buffer = Buffer.alloc(100)
    const woken = promisify(read)(socket.fd, buffer, 0, buffer.length, null).catch((error: unknown) => error)
    await sockets.destroy([socket], signal)
    expect(await woken).toMatchObject({ code: 'ECONNABORTED' })
  })

  test('3,000 sockets in 50 namespaces are destroyed, and this process stays in its own', async () => {
    const home = () => readlinkSync('/proc/self/ns/net')
    const before = home()
    const all = namespaces.names.flatMap((name) =>
      inNamespace(libc, name, () =>
        Array.from({ length: 60 }, (_, index) =>
          connectUdp(libc, index % 2 === 0 ? 'ipv4' : 'ipv6', '127.0.0.1', 7001 + index),
        ),
      ),
    )
    const facts = all.map(({ cookie, netns, protocol, ip, port }) => ({ cookie, netns, protocol, ip, port }))
    let turns = 0
    let next: NodeJS.Immediate | undefined
    const turn = () => {
      turns++
      next = setImmediate(turn)
    }
    turn()
    expect(await sockets.destroy(facts, signal)).toEqual({ destroyed: 3_000, unreached: [] })
    clearImmediate(next)
    // The process does other work meanwhile, several times for each namespace.
    expect(turns).toBeGreaterThan(2 * namespaces.names.length)
    expect(all.filter((socket) => socket.isConnected())).toEqual([])
    expect(home()).toBe(before)
    for (const socket of all) socket[Symbol.dispose]()
  })

  test('sockets that close while others are destroyed are no error', async () => {
    for (let round = 0; round < 20; round++) {
      const all = inNamespace(libc, elsewhere(), () =>
        Array.from({ length: 50 }, () => connectUdp(libc, 'ipv4', '127.0.0.1', 7001)),
      )
      const destroying = sockets.destroy(all, signal)
      let at = 0
      const closing = setInterval(() => all[at++]?.[Symbol.dispose](), 0)
      const { destroyed, unreached } = await destroying
      clearInterval(closing)
      expect(unreached).toEqual([])
      expect(destroyed).toBeLessThanOrEqual(50)
      for (const socket of all) socket[Symbol.dispose]()
    }
  })
})

/** A process that has more rights than those that may not look through it. */
function processOfRoot(): Disposable & { readonly pid: number | undefined } {
  const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 600_000)'], { stdio: 'ignore' })
  return { pid: child.pid, [Symbol.dispose]: () => void child.kill('SIGKILL') }
}

interface Limited {
  readonly program: URL
  readonly folders: { readonly procFolder: string; readonly namedFolder: string }
  /** Of setpriv. */
  readonly capabilities: string
}

/** How far a process gets that has these capabilities and no other. */
function reachOf({ program, folders, capabilities }: Limited): string {
  const task = JSON.stringify({ ...folders, wanted: 'another' })
  const script = `new (require('node:worker_threads').Worker)(new URL('${program.href}'), { workerData: ${task} })
    .once('message', (reach) => console.log(reach))`
  const limits = capabilities === 'all' ? [] : [`--bounding-set=${capabilities}`, '--inh-caps=-all']
  return execFileSync('setpriv', [...limits, '--no-new-privs', '--', process.execPath, '-e', script], {
    encoding: 'utf8',
  }).trim()
}
