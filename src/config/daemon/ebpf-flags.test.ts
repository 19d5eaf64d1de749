import { expect, test } from 'vitest'
import { parseDaemonCommandLine } from './parse-daemon-command-line.ts'

const parsed = (...argv: readonly string[]) => parseDaemonCommandLine(argv, 'linux')

test('without flags, everything that can be done at sockets is done there', () => {
  expect(parsed()).toMatchObject({
    options: {
      ebpf: {
        scope: 'all',
        udp: 'auto',
        cgroup: '',
        pins: '/sys/fs/bpf/fairlead',
        localhostNodePorts: true,
        peerNames: true,
        destroysTcp: false,
        untrackedPods: [],
        leaseMs: 300_000,
        fallback: 'none',
        besideOthers: false,
      },
    },
  })
})

test.each([
  ['--ebpf-cgroup=sys/fs/cgroup', 'is no full path'],
  ['--ebpf-pins=fairlead', 'write a full path without dots'],
  ['--ebpf-pins=/sys/fs/bpf/fair.lead', 'write a full path without dots'],
  ['--ebpf-lease=5s', 'could end while this process runs'],
  ['--ebpf-lease=-1s', 'could end while this process runs'],
  ['--ebpf-scope=pods', 'none of all, host'],
  ['--ebpf-untracked-pods=10.64.0.0', 'is not a range of addresses'],
  ['--ebpf-untracked-pods=10.64.0.0/16,0.0.0.0/0', '0.0.0.0/0 holds every address: give the ranges of pods'],
  ['--ebpf-untracked-pods=::/0', '::/0 holds every address: give the ranges of pods'],
  ['--ebpf-untracked-pods=::ffff:0.0.0.0/96', 'holds every address: give the ranges of pods'],
])('%s is refused', (flag, reason) => {
  expect(parsed(flag)).toMatchObject({ kind: 'refused', message: expect.stringContaining(reason) as string })
})

test('a lease may last for ever', () => {
  expect(parsed('--ebpf-lease=0')).toMatchObject({ options: { ebpf: { leaseMs: 0 } } })
})

test('other systems do not have these flags', () => {
  expect(parseDaemonCommandLine(['--ebpf-scope=host'], 'win32')).toMatchObject({ kind: 'refused' })
})
