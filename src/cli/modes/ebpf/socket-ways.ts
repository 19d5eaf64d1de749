/** What hooks do on this machine, by what the operator wants and what the kernel has; the rest is left to nftables. */
import type { SocketSettings } from '../../../backends/ebpf/settings.ts'
import type { EbpfOptions } from '../../../config/daemon/ebpf-flags.ts'

export interface MachineFeatures {
  /** A connection that nobody serves is refused by the hook. */
  readonly refuses: boolean
  /** getpeername shows the Service. */
  readonly hasPeerNames: boolean
  /** Mounts at a Service find another endpoint. */
  readonly keepsKernelSockets: boolean
  /** The cookie of the network namespace of this process, which is the host's. Undefined: the kernel does not tell. */
  readonly hostNetns: bigint | undefined
  /** Whose connected datagram sockets can be ended once their endpoint is gone. */
  readonly endsSocketsOf: 'all' | 'host' | 'nobody'
  /** Why not those of everybody. */
  readonly endsNoMoreBecause: string
}

export interface SocketWays {
  readonly settings: SocketSettings
  /** One sentence for each thing. */
  readonly left: readonly string[]
}

/** As long as a datagram flow may be silent in conntrack. */
const udpIdleMs = 30_000

export function socketWays(options: EbpfOptions, features: MachineFeatures): SocketWays {
  const { hostNetns } = features
  const udpConnect = udpConnectOf(options, features)
  const settings: SocketSettings = {
    hostNetns: hostNetns ?? 0n,
    scope: options.scope,
    tcp: true,
    udpSend: options.udp !== 'off',
    udpConnect,
    loopbackNodePorts: options.localhostNodePorts && hostNetns !== undefined,
    peerNames: options.peerNames,
    entersPods: features.endsSocketsOf === 'all',
    endsTcp: options.destroysTcp && options.peerNames && features.endsSocketsOf !== 'nobody',
    leaseMs: options.leaseMs,
    udpIdleMs,
  }
  return { settings, left: [...sentences(options, features, udpConnect)] }
}

/** Without the cookie nobody can tell the host from a pod. */
export function scopeObstacle({ scope }: EbpfOptions, hostNetns: bigint | undefined): string | undefined {
  return scope === 'host' && hostNetns === undefined
    ? 'this kernel does not tell network namespaces apart (SO_NETNS_COOKIE, Linux 5.14), which --ebpf-scope=host needs: leave the flag out, or use a newer kernel'
    : undefined
}

function udpConnectOf(
  { udp }: EbpfOptions,
  { hostNetns, endsSocketsOf }: MachineFeatures,
): SocketSettings['udpConnect'] {
  if (udp !== 'auto' || hostNetns === undefined || endsSocketsOf === 'nobody') return 'none'
  return endsSocketsOf
}

function* sentences(
  { scope, udp, localhostNodePorts, peerNames, destroysTcp }: EbpfOptions,
  { hostNetns, refuses, hasPeerNames, keepsKernelSockets, endsSocketsOf, endsNoMoreBecause }: MachineFeatures,
  udpConnect: SocketSettings['udpConnect'],
): Generator<string> {
  if (scope === 'host') yield 'pods are left to nftables: --ebpf-scope=host'
  if (udp === 'off') yield 'UDP is left to nftables: --ebpf-udp=off'
  else if (udp === 'send') yield 'connected UDP is left to nftables: --ebpf-udp=send'
  else if (hostNetns === undefined) yield 'connected UDP is left to nftables: the kernel has no SO_NETNS_COOKIE'
  else if (udpConnect === 'none') yield `connected UDP is left to nftables: ${endsNoMoreBecause}`
  else if (udpConnect === 'host' && scope === 'all')
    yield `connected UDP of pods is left to nftables: ${endsNoMoreBecause}`
  const drain = 'to endpoints that have ended drain'
  if (destroysTcp && !peerNames) yield `TCP connections ${drain}: --ebpf-peer-names=false leaves them no memory of it`
  else if (destroysTcp && endsSocketsOf === 'nobody') yield `TCP connections ${drain}: ${endsNoMoreBecause}`
  else if (destroysTcp && endsSocketsOf === 'host' && scope === 'all')
    yield `TCP connections of pods ${drain}: ${endsNoMoreBecause}`
  if (localhostNodePorts && hostNetns === undefined)
    yield 'node ports on loopback stay closed: the kernel has no SO_NETNS_COOKIE'
  if (!refuses) yield 'refusing connections is left to nftables: the kernel has no bpf_set_retval'
  if (!hasPeerNames) yield 'getpeername shows endpoints: the kernel has no hook there'
  if (!keepsKernelSockets)
    yield 'NFS and SMB mounts at a cluster IP hang when their endpoint goes: the kernel is older than 6.6, or 6.1.59'
}
