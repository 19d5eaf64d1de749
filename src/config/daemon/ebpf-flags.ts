/** The ebpf mode: where it hooks in, and what it leaves to its nftables table. */
import { parseCidr } from '../../net/ip.ts'
import { shortened } from '../../net/shown-value.ts'
import type { FlagValues } from '../flags/flag.ts'
import { inGroup } from '../flags/flag.ts'
import * as type from '../flags/flag-types.ts'
import { renderGoDuration } from '../../net/go-duration.ts'

const minute = 60_000
/** The lease is renewed every 30 s, and a renewal may come late. */
const shortestLeaseMs = minute

/** What decides how a node is programmed, and what its clients meet: also for who only says it, on any system. */
export const ebpfPlanFlags = {
  'ebpf-scope': {
    type: type.oneOf(['all', 'host']),
    default: 'all',
    help: 'Whose sockets are connected to endpoints in ebpf mode: all, or host (pods are left to nftables, as a service mesh in pods needs it).',
  },
  'ebpf-udp': {
    type: type.oneOf(['auto', 'send', 'off']),
    default: 'auto',
    help: 'UDP in ebpf mode: auto (connected sockets too, if those with a dead endpoint can be ended here), send (never connected ones), or off (all is left to nftables).',
  },
  'ebpf-localhost-node-ports': {
    type: type.bool,
    default: true,
    help: 'Open node ports on 127.0.0.0/8 and ::1 for processes of the node in ebpf mode.',
  },
  'ebpf-untracked-pods': {
    type: type.cidrs,
    default: [] as readonly string[],
    help: 'In ebpf mode, do not track connections between two pods of one of these ranges, which costs less. What is sent to addresses of Services there is tracked. Network policies that go by connection state see nothing there, and what hooks leave to nftables hides its client behind the node. Empty: all is tracked.',
  },
} as const

export const ebpfFlags = inGroup('ebpf mode', {
  'ebpf-scope': { platform: 'linux', ...ebpfPlanFlags['ebpf-scope'] },
  'ebpf-udp': { platform: 'linux', ...ebpfPlanFlags['ebpf-udp'] },
  'ebpf-cgroup': {
    platform: 'linux',
    type: type.text,
    default: '',
    help: 'The cgroup v2 directory whose processes the ebpf mode serves. Empty: the root, wherever it is mounted.',
  },
  'ebpf-pins': {
    platform: 'linux',
    type: type.text,
    default: '/sys/fs/bpf/fairlead',
    help: 'Where the ebpf mode keeps its maps and links over a restart: a folder in a BPF file system, not the file system itself.',
  },
  'ebpf-localhost-node-ports': { platform: 'linux', ...ebpfPlanFlags['ebpf-localhost-node-ports'] },
  'ebpf-peer-names': {
    platform: 'linux',
    type: type.bool,
    default: true,
    help: 'In ebpf mode, getpeername shows the address of the Service. With false it shows the endpoint of a TCP connection, and connecting costs a little less.',
  },
  'ebpf-destroy-tcp': {
    platform: 'linux',
    type: type.bool,
    default: false,
    help: 'In ebpf mode, also end TCP connections of this node to an endpoint that has left the Service. Without it they drain.',
  },
  'ebpf-untracked-pods': { platform: 'linux', ...ebpfPlanFlags['ebpf-untracked-pods'] },
  'ebpf-lease': {
    platform: 'linux',
    type: type.duration,
    default: 5 * minute,
    help: 'How long after the end of this process its programs go on to serve in ebpf mode; after that all is left to nftables. 0: for ever.',
  },
  'ebpf-fallback': {
    platform: 'linux',
    type: type.oneOf(['none', 'nftables']),
    default: 'none',
    help: 'What to do where the ebpf mode cannot run: none (refuse to start), or nftables (say so, and run the nftables mode).',
  },
  'ebpf-beside-others': {
    platform: 'linux',
    type: type.bool,
    default: false,
    help: 'Start the ebpf mode although another program that balances at sockets (Cilium, Calico, KPNG) is attached.',
  },
} as const)

export interface EbpfOptions {
  readonly scope: 'all' | 'host'
  readonly udp: 'auto' | 'send' | 'off'
  /** Empty: the root of cgroup v2. */
  readonly cgroup: string
  readonly pins: string
  readonly localhostNodePorts: boolean
  readonly peerNames: boolean
  readonly destroysTcp: boolean
  /** CIDRs. */
  readonly untrackedPods: readonly string[]
  /** 0: for ever. */
  readonly leaseMs: number
  readonly fallback: 'none' | 'nftables'
  readonly besideOthers: boolean
}

type Values = FlagValues<typeof ebpfFlags>

/** As if nobody had given a flag. */
export const ebpfDefaults = Object.fromEntries(
  Object.entries(ebpfFlags).map(([name, flag]) => [name, flag.default]),
) as Values

/** The values make sense: `ebpfProblem` has looked. */
export function ebpfOptions(values: Values): EbpfOptions {
  return {
    scope: values['ebpf-scope'],
    udp: values['ebpf-udp'],
    cgroup: values['ebpf-cgroup'],
    pins: values['ebpf-pins'],
    localhostNodePorts: values['ebpf-localhost-node-ports'],
    peerNames: values['ebpf-peer-names'],
    destroysTcp: values['ebpf-destroy-tcp'],
    untrackedPods: values['ebpf-untracked-pods'],
    leaseMs: values['ebpf-lease'],
    fallback: values['ebpf-fallback'],
    besideOthers: values['ebpf-beside-others'],
  }
}

/** What is wrong, and the way out. */
export function ebpfProblem(values: Values): string | undefined {
  const { 'ebpf-cgroup': cgroup, 'ebpf-pins': pins, 'ebpf-lease': leaseMs } = values
  if (cgroup !== '' && !cgroup.startsWith('/'))
    return `--ebpf-cgroup=${shortened(cgroup)} is no full path: write it from the root, such as /sys/fs/cgroup`
  if (!/^\/[^.]+$/.test(pins))
    return `--ebpf-pins=${shortened(pins)} cannot hold maps: write a full path without dots, such as /sys/fs/bpf/fairlead`
  if (leaseMs !== 0 && leaseMs < shortestLeaseMs)
    return `--ebpf-lease=${renderGoDuration(leaseMs)} could end while this process runs: give 1m or more, or 0 for ever`
  const everything = values['ebpf-untracked-pods'].find((range) => parseCidr(range)?.prefixLength === 0)
  if (everything !== undefined)
    return `--ebpf-untracked-pods=${everything} holds every address: give the ranges of pods, such as 10.64.0.0/16`
  return undefined
}
