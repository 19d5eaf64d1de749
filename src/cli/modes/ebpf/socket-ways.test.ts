import { describe, expect, test } from 'vitest'
import type { EbpfOptions } from '../../../config/daemon/ebpf-flags.ts'
import { scopeObstacle, socketWays } from './socket-ways.ts'
import type { MachineFeatures } from './socket-ways.ts'

const usual: EbpfOptions = {
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
}
const everything: MachineFeatures = {
  hostNetns: 7n,
  refuses: true,
  hasPeerNames: true,
  keepsKernelSockets: true,
  endsSocketsOf: 'all',
  endsNoMoreBecause: '',
}

const ways = (options: Partial<EbpfOptions> = {}, features: Partial<MachineFeatures> = {}) =>
  socketWays({ ...usual, ...options }, { ...everything, ...features })

test('a new kernel does everything', () => {
  expect(ways()).toEqual({
    left: [],
    settings: {
      hostNetns: 7n,
      scope: 'all',
      tcp: true,
      udpSend: true,
      udpConnect: 'all',
      loopbackNodePorts: true,
      peerNames: true,
      entersPods: true,
      endsTcp: false,
      leaseMs: 300_000,
      udpIdleMs: 30_000,
    },
  })
})

describe('what is left to nftables is said, with the reason', () => {
  test.each([
    [{ scope: 'host' }, {}, { scope: 'host' }, ['pods are left to nftables: --ebpf-scope=host']],
    [{ udp: 'off' }, {}, { udpSend: false, udpConnect: 'none' }, ['UDP is left to nftables: --ebpf-udp=off']],
    [
      { udp: 'send' },
      {},
      { udpSend: true, udpConnect: 'none' },
      ['connected UDP is left to nftables: --ebpf-udp=send'],
    ],
    [
      {},
      { endsSocketsOf: 'nobody', endsNoMoreBecause: 'the kernel cannot destroy sockets' },
      { udpSend: true, udpConnect: 'none' },
      ['connected UDP is left to nftables: the kernel cannot destroy sockets'],
    ],
    [
      {},
      { endsSocketsOf: 'host', endsNoMoreBecause: 'this process lacks CAP_SYS_ADMIN' },
      { udpConnect: 'host' },
      ['connected UDP of pods is left to nftables: this process lacks CAP_SYS_ADMIN'],
    ],
    [
      {},
      { hostNetns: undefined },
      { loopbackNodePorts: false, udpConnect: 'none' },
      [
        'connected UDP is left to nftables: the kernel has no SO_NETNS_COOKIE',
        'node ports on loopback stay closed: the kernel has no SO_NETNS_COOKIE',
      ],
    ],
    [{}, { refuses: false }, {}, ['refusing connections is left to nftables: the kernel has no bpf_set_retval']],
    [{}, { hasPeerNames: false }, {}, ['getpeername shows endpoints: the kernel has no hook there']],
  ] as const)('%j with %j', (options, features, settings, left) => {
    expect(ways(options, features)).toMatchObject({ settings, left })
    expect(ways(options, features).left).toEqual(left)
  })
})

test('where pods are left alone anyway, it does not matter that their sockets cannot be ended', () => {
  const host: Partial<EbpfOptions> = { scope: 'host', destroysTcp: true }
  expect(ways(host, { endsSocketsOf: 'host', endsNoMoreBecause: 'x' }).left).toHaveLength(1)
})

describe('who wants connections ended, and does not get it, is told', () => {
  const lacks = { endsNoMoreBecause: 'this process lacks CAP_SYS_ADMIN' }
  test.each([
    [{}, {}, true, []],
    [
      { peerNames: false },
      {},
      false,
      ['TCP connections to endpoints that have ended drain: --ebpf-peer-names=false leaves them no memory of it'],
    ],
    [
      { udp: 'send' },
      { ...lacks, endsSocketsOf: 'nobody' },
      false,
      [
        'connected UDP is left to nftables: --ebpf-udp=send',
        'TCP connections to endpoints that have ended drain: this process lacks CAP_SYS_ADMIN',
      ],
    ],
    [
      { udp: 'off' },
      { ...lacks, endsSocketsOf: 'host' },
      true,
      [
        'UDP is left to nftables: --ebpf-udp=off',
        'TCP connections of pods to endpoints that have ended drain: this process lacks CAP_SYS_ADMIN',
      ],
    ],
  ] as const)('%j with %j', (options, features, endsTcp, left) => {
    const told = ways({ ...options, destroysTcp: true }, features)
    expect([told.settings.endsTcp, told.left]).toEqual([endsTcp, left])
  })
})

test('the scope of the host needs a kernel that knows the host', () => {
  expect(scopeObstacle({ ...usual, scope: 'host' }, undefined)).toContain('SO_NETNS_COOKIE')
  expect(scopeObstacle({ ...usual, scope: 'host' }, 7n)).toBeUndefined()
  expect(scopeObstacle(usual, undefined)).toBeUndefined()
})
