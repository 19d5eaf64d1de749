/** Connected UDP sockets whose endpoint has ended: the iterator finds them, and they lose their connection. */
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { configFlags } from '../../src/backends/ebpf/layout.ts'
import { loadLibc } from '../../src/dataplane/libc/load-libc.ts'
import { NetlinkSockets } from '../../src/dataplane/sock-diag/netlink-sockets.ts'
import { compileNamespaceWorker } from '../../src/dataplane/sock-diag/testing/compile-namespace-worker.ts'
import { ClientSocket } from './testing/client-socket.ts'
import { serverPlaces } from './testing/lab.ts'
import { describeSockets } from './testing/socket-lab.ts'

const { signal } = new AbortController()
const [first, second] = serverPlaces.ipv4
const [six, otherSix] = serverPlaces.ipv6

await describeSockets('stale sockets', ({ hooks, nodes: { host, pod, neighbour } }) => {
  let worker: Awaited<ReturnType<typeof compileNamespaceWorker>>
  let sockets: NetlinkSockets
  /** The namespaces of the lab have no process of their own, so they get names. */
  const namedFolder = mkdtempSync(join(tmpdir(), 'fairlead-test-namespaces-'))
  for (const [name, { path }] of Object.entries({ host, pod, neighbour })) symlinkSync(path, join(namedFolder, name))
  beforeEach((context) => {
    if (!hooks.findStale) context.skip('this kernel does not list the memory of sockets')
  })
  beforeAll(async () => {
    worker = await compileNamespaceWorker()
    sockets = new NetlinkSockets({ libc: await loadLibc(), program: worker.program, namedFolder })
  })
  afterAll(async () => {
    rmSync(namedFolder, { recursive: true })
    await worker[Symbol.asyncDispose]()
  })

  /** The kernel lets go of closed sockets a moment later: those of earlier tests do not count. */
  const endStale = async (...among: readonly ClientSocket[]) => {
    const cookies = new Set(among.map(({ cookie }) => cookie))
    return sockets.destroy(
      (await hooks.stale()).filter(({ cookie }) => cookies.has(cookie)),
      signal,
    )
  }

  test('lose their connection in every namespace and family, and nobody beside them does', async () => {
    const v4 = await hooks.serve({ at: ['udp 10.96.0.1:53'], internal: [first] })
    const v6 = await hooks.serve({ at: ['udp [fd96::1]:53'], internal: [six] })
    const kept = await hooks.serve({ at: ['udp 10.96.0.2:53'], internal: [second] })
    using plain = ClientSocket.udp(pod)
    using mapped = ClientSocket.udp(neighbour, 'ipv6')
    using native = ClientSocket.udp(host, 'ipv6')
    using direct = ClientSocket.udp(pod)
    using other = ClientSocket.udp(pod)
    const stale = [plain, mapped, native]
    for (const socket of [plain, mapped]) expect(socket.connect('10.96.0.1:53')).toBe('ok')
    expect(native.connect('[fd96::1]:53')).toBe('ok')
    expect(direct.connect(first)).toBe('ok')
    expect(other.connect('10.96.0.2:53')).toBe('ok')

    await v4.end(first)
    await v6.end(six)
    expect(await endStale(...stale, direct, other)).toEqual({ destroyed: 3, unreached: [] })
    for (const socket of stale) {
      expect(socket.peer).toBe('ENOTCONN')
      expect(socket.send('hello')).toBe('EDESTADDRREQ')
    }
    expect(direct.peer).toBe(first)
    expect(other.peer).toBe('10.96.0.2:53')
    expect(kept.udpConnects(second)).toBe(1)
  })

  test('can connect again, and reach another endpoint', async () => {
    const before = await hooks.serve({ at: ['udp [fd96::1]:53'], internal: [six] })
    using socket = ClientSocket.udp(pod, 'ipv6')
    expect(socket.connect('[fd96::1]:53')).toBe('ok')
    await before.end(six)
    await hooks.serve({ at: ['udp [fd96::1]:53'], internal: [otherSix] })
    expect(await endStale(socket)).toMatchObject({ destroyed: 1 })
    expect(socket.connect('[fd96::1]:53')).toBe('ok')
    // It is told once, at the first call that asks.
    expect(socket.send('hello')).toBe('ECONNABORTED')
    expect(socket.send('hello')).toBe('ok')
    expect(otherSix).toContain((await socket.receive()).answer.answeredBy)
    expect(await endStale(socket)).toEqual({ destroyed: 0, unreached: [] })
  })

  test('are connections, too, where that is wanted, in every namespace and family', async () => {
    const v4 = await hooks.serve({ at: ['tcp 10.96.0.1:80'], internal: [first] })
    const v6 = await hooks.serve({ at: ['tcp [fd96::1]:80'], internal: [six] })
    using plain = ClientSocket.tcp(pod)
    using mapped = ClientSocket.tcp(neighbour, 'ipv6')
    using native = ClientSocket.tcp(host, 'ipv6')
    using direct = ClientSocket.tcp(pod)
    const stale = [plain, mapped, native]
    for (const socket of [plain, mapped]) expect(socket.connect('10.96.0.1:80')).toBe('ok')
    expect(native.connect('[fd96::1]:80')).toBe('ok')
    expect(direct.connect(first)).toBe('ok')
    await v4.end(first)
    await v6.end(six)
    expect(await endStale(...stale, direct)).toEqual({ destroyed: 0, unreached: [] })
    expect(plain.peer).toBe('10.96.0.1:80')
    await hooks.configure({ with: configFlags.reportStaleTcp })
    expect(await endStale(...stale, direct)).toEqual({ destroyed: 3, unreached: [] })
    for (const socket of stale) expect(socket.peer).toBe('ENOTCONN')
    expect(direct.peer).toBe(first)
  })

  test('that were told once are reported again, and left alone', async () => {
    const served = await hooks.serve({ at: ['udp 10.96.0.1:53'], internal: [first] })
    using socket = ClientSocket.udp(pod)
    expect(socket.connect('10.96.0.1:53')).toBe('ok')
    await served.end(first)
    expect(await endStale(socket)).toEqual({ destroyed: 1, unreached: [] })
    expect((await hooks.stale()).map(({ cookie }) => cookie)).toContain(socket.cookie)
    expect(await endStale(socket)).toEqual({ destroyed: 0, unreached: [] })
  })
  test('are reported by the last bits of their cookies, each once', async () => {
    const served = await hooks.serve({ at: ['udp 10.96.0.1:53'], internal: [first] })
    const connected = Array.from({ length: 12 }, () => ClientSocket.udp(pod))
    for (const socket of connected) expect(socket.connect('10.96.0.1:53')).toBe('ok')
    await served.end(first)
    const own = new Set(connected.map(({ cookie }) => cookie))
    const told = []
    for (const bits of [0n, 1n, 2n, 3n]) {
      const reports = (await hooks.staleAmong({ mask: 3n, bits })) ?? []
      const cookies = reports.map(({ cookie }) => cookie).filter((cookie) => own.has(cookie))
      for (const cookie of cookies) expect(cookie & 3n).toBe(bits)
      told.push(...cookies)
    }
    expect([told.length, new Set(told)]).toEqual([own.size, own])
    for (const socket of connected) socket[Symbol.dispose]()
  })
})
