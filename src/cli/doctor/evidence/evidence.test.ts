/** What is read from /proc and from other programs, as text. */
import { expect, test } from 'vitest'
import { memoryHost } from '../../host/testing/memory-host.ts'
import { setupWith } from '../testing/setup.ts'
import { readConfinement } from './confinement.ts'
import { lateDrift, parseMetrics } from './daemon.ts'
import { parseSctpEndpoints, parseSockets, readListeners } from './listeners.ts'
import { flagsOfDaemon, isProxyDaemon, withChildren } from './processes.ts'
import { isReadOnlyAt, parseConntrackStats } from './settings.ts'

test('sockets that wait for clients', () => {
  const tcp = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:2810 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0 100 0 0 10 0
   1: 0100007F:0277 0100007F:2810 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0 100 0 0 10 0`
  expect(parseSockets(tcp, 'TCP')).toEqual([{ protocol: 'TCP', ip: '0.0.0.0', port: 10256, inode: '4711' }])
  const udp6 =
    '  1: B80D0120000000000000000001000000:0035 00000000000000000000000000000000:0000 07 00000000:00000000 00:00000000 00000000 0 0 9 2'
  expect(parseSockets(udp6, 'UDP')).toEqual([{ protocol: 'UDP', ip: '2001:db8::1', port: 53, inode: '9' }])
})

test('SCTP sockets that wait for clients, each at all its addresses', () => {
  const eps = ` ENDPT     SOCK   STY SST HBKT LPORT   UID INODE LADDRS
ffff88810a1b2c00 ffff88810d4e5f00 2   10  29   38412     0 41521 10.0.0.5 192.0.2.5
ffff88810a1b2c01 ffff88810d4e5f01 2   10  30   36412     0 41522 0000:0000:0000:0000:0000:0000:0000:0000
ffff88810a1b2c02 ffff88810d4e5f02 2   7   31   2905      0 41523 10.0.0.5
`
  expect(parseSctpEndpoints(eps)).toEqual([
    { protocol: 'SCTP', ip: '10.0.0.5', port: 38_412, inode: '41521' },
    { protocol: 'SCTP', ip: '192.0.2.5', port: 38_412, inode: '41521' },
    { protocol: 'SCTP', ip: '::', port: 36_412, inode: '41522' },
  ])
})

test('the sockets of all protocols are read, those of SCTP where the kernel has it', async () => {
  const tcp = '0: 00000000:7530 00000000:0000 0A 0:0 00:0 0 0 0 7\n'
  const kernel: Readonly<Record<string, string>> = { '/proc/net/tcp': tcp, '/proc/net/udp': '' }
  const read = (files: Readonly<Record<string, string>>) =>
    readListeners(
      {
        readTextFile: (path) =>
          path in files ? Promise.resolve(files[path] ?? '') : Promise.reject(new Error('ENOENT')),
      },
      [],
    )
  expect((await read(kernel)).map(({ protocol }) => protocol)).toEqual(['TCP'])
  const sctp = 'a b 2 10 29 30000 0 8 0.0.0.0\n'
  expect((await read({ ...kernel, '/proc/net/sctp/eps': sctp })).map(({ protocol }) => protocol)).toEqual([
    'TCP',
    'SCTP',
  ])
  await expect(read({})).rejects.toThrow('/proc/net/tcp')
})

test.each<[args: readonly string[], isDaemon: boolean]>([
  [['node', '/opt/fairlead/bin/fairlead.js', '--proxy-mode=nftables'], true],
  [['/usr/bin/node', '/usr/bin/fairlead'], true],
  [['fairlead', '--config=x'], true],
  [['node', 'fairlead.js', 'api', 'to-nft'], true],
  [['node', 'fairlead.js', 'kube', 'to-api'], false],
  [['node', 'fairlead.js', 'doctor', '-o', 'json'], false],
  [['node', 'fairlead.js', '--cleanup'], false],
  [['node', 'fairlead.js', 'demo'], false],
  [['vi', 'fairlead.js'], false],
  [['node', 'x.js', 'fairlead.js'], false],
  [['/usr/bin/node', '--max-old-space-size=256', '/opt/bin/fairlead.js', '--proxy-mode=ipvs'], true],
])('%j is a proxy: %s', (args, isDaemon) => {
  expect(isProxyDaemon(args)).toBe(isDaemon)
})

test('flags are taken from the daemon of root or of the same user, never from what others call fairlead', () => {
  const daemon = (pid: number, isTrusted: boolean, ...flags: readonly string[]) => ({
    pid,
    parentPid: 1,
    args: ['/usr/bin/node', '/opt/fairlead.js', ...flags],
    isTrusted,
    sockets: undefined,
  })
  const ours = daemon(2, true, '--proxy-mode=ipvs')
  const theirs = daemon(3, false, '--kubeconfig=/tmp/runs-a-program')
  expect(flagsOfDaemon({ fairleads: [theirs] })).toBeUndefined()
  expect(flagsOfDaemon({ fairleads: [theirs, ours] })).toEqual({ pid: 2, flags: ['--proxy-mode=ipvs'] })
  expect(flagsOfDaemon({ fairleads: [ours, daemon(4, true, '--v=2')] })).toBeUndefined()
  expect(flagsOfDaemon({ fairleads: [daemon(2, true)] })).toBeUndefined()
})

test('a process and all that descends from it', () => {
  const process = (pid: number, parentPid: number) => ({
    pid,
    parentPid,
    args: [],
    isTrusted: true,
    sockets: undefined,
  })
  expect(withChildren(new Set([2]), [process(4, 3), process(3, 2), process(5, 1)])).toEqual(new Set([2, 3, 4]))
})

test('the mount that counts is the last one on the longest part of the path', () => {
  const mounts = 'proc /proc proc rw 0 0\nproc /proc/sys proc ro,nosuid 0 0\n'
  expect(isReadOnlyAt(mounts, '/proc/sys/net')).toBe(true)
  expect(isReadOnlyAt(`${mounts}proc /proc/sys proc rw 0 0\n`, '/proc/sys/net')).toBe(false)
  expect(isReadOnlyAt('proc /proc proc rw 0 0\nx /proc/sysx x ro 0 0\n', '/proc/sys/net')).toBe(false)
})

test('statistics of conntrack, added up', () => {
  const text = 'entries drop early_drop\n00000001 00000010 00000001\n00000001 00000002 00000000\n'
  expect(parseConntrackStats(text)).toEqual({ entries: 2, drop: 18, early_drop: 1 })
})

test('metrics by name and labels', () => {
  const text = '# HELP x y\nx{kind="Service"} 2.5 # {trace="a"} 1\nplain 3\n'
  expect(parseMetrics(text)).toEqual(
    new Map([
      ['x{kind="Service"}', 2.5],
      ['plain', 3],
    ]),
  )
})

test('drift of the last hour, and what is not repaired', () => {
  const entry = { family: 'ipv4', found: 'a table is gone', times: 2, repairedAfterSeconds: 0.5 }
  const at = (hours: number) => new Date(hours * 3_600_000).toISOString()
  const drift = [
    { ...entry, at: at(10) },
    { ...entry, at: at(8) },
    { ...entry, at: at(1), times: 1, repairedAfterSeconds: null },
  ]
  expect(lateDrift({ total: 3, drift }, 10.5 * 3_600_000)).toEqual([
    '1970-01-01T10:00:00.000Z ipv4: a table is gone, 2 times; repaired after 0.5 s',
    '1970-01-01T01:00:00.000Z ipv4: a table is gone; not repaired',
  ])
  expect(lateDrift('no such page', 0)).toBeUndefined()
})

test.each([
  ['system_u:system_r:container_t:s0:c12,c34\0', 'system_u:system_r:container_t:s0:c12,c34'],
  ['unconfined_u:unconfined_r:unconfined_t:s0-s0:c0.c1023\n', 'unconfined_u:unconfined_r:unconfined_t:s0-s0:c0.c1023'],
  ['cri-containerd.apparmor.d (enforce)\n', undefined],
  ['unconfined\n', undefined],
  ['', undefined],
])('the label of SELinux in %j', async (text, context) => {
  const readTextFile = async () => text
  const { seLinuxContext } = await readConfinement({ ...memoryHost(), readTextFile }, await setupWith())
  expect(seLinuxContext).toBe(context)
})

test('what the process may not use, because it was denied; what is missing or read-only is told elsewhere', async () => {
  const setup = await setupWith(['--proxy-mode=iptables'], { stateDir: '/state' })
  const failing = (code: string) => async (path: unknown) => {
    throw Object.assign(new Error(`${code} ${String(path)}`), { code })
  }
  expect((await readConfinement(memoryHost(), setup, failing('EACCES'))).denied).toEqual([
    { path: '/run/xtables.lock', problem: 'EACCES /run/xtables.lock' },
    { path: '/state', problem: 'EACCES /state' },
  ])
  for (const code of ['ENOENT', 'EROFS'])
    expect((await readConfinement(memoryHost(), setup, failing(code))).denied).toEqual([])
  // The nftables mode does not take the lock.
  const { denied } = await readConfinement(memoryHost(), await setupWith(['--proxy-mode=nftables']), failing('EACCES'))
  expect(denied).toEqual([])
})
