/** The backends that are compared, as their modes put them together, for IPv4. */
import { readFile } from 'node:fs/promises'
import { EbpfBackend } from '../../../src/backends/ebpf/ebpf-backend.ts'
import { SocketBalancer } from '../../../src/backends/ebpf/socket-balancer.ts'
import { noPackets } from '../../../src/backends/ebpf/testing/no-packets.ts'
import { NftablesBackend } from '../../../src/backends/nftables/nftables-backend.ts'
import { thisHost } from '../../../src/cli/host/this-host.ts'
import { examineGround } from '../../../src/cli/modes/ebpf/examine-ground.ts'
import type { Backend } from '../../../src/core/backend.ts'
import { silentLogger } from '../../../src/core/logger.ts'
import { NftTables } from '../../../src/dataplane/nft/nft-tables.ts'
import { podRange } from '../core/cluster-objects.ts'
import { nodeIp } from './places.ts'

/** `sockets`: the ebpf mode without the table that it has for packets. */
export type ModeName = 'nftables' | 'sockets' | 'ebpf'

export interface EbpfFiles {
  readonly cgroup: string
  readonly pins: string
  /** The compiled programs. */
  readonly object: string
}

const log = silentLogger
const never = new AbortController().signal

export async function openMode(mode: ModeName, files: EbpfFiles): Promise<Backend> {
  if (mode === 'nftables') return openNftables()
  return openEbpf(files, mode === 'ebpf' ? await openNftables() : noPackets)
}

async function openNftables(): Promise<Backend> {
  const host = thisHost()
  const nft = new NftTables({ ...host, kernelRelease: host.kernelRelease() })
  return new NftablesBackend({
    family: 'ipv4',
    table: await nft.open('ipv4', log, never),
    state: () => ({
      settings: {
        family: 'ipv4',
        localTraffic: { kind: 'cidr', cidr: podRange },
        masqueradeAll: false,
        masqueradeMark: '0x00004000',
        limitsNodePorts: false,
      },
      nodePortIps: [],
    }),
    countsConnections: () => false,
    metrics: { syncFailed() {}, cleanupFailed() {} },
    clock: host.clock,
    log,
  })
}

async function openEbpf({ cgroup, pins, object }: EbpfFiles, packets: Backend): Promise<Backend> {
  const host = { ...thisHost(), readEbpfObject: () => readFile(object) }
  const options = {
    scope: 'all',
    udp: 'auto',
    cgroup,
    pins,
    localhostNodePorts: true,
    peerNames: true,
    destroysTcp: false,
    untrackedPods: [],
    leaseMs: 0,
    fallback: 'none',
    besideOthers: false,
  } as const
  const { bpf, programs, iterator, sockets, digest, settings } = await examineGround(host, options, never)
  const ips = new Set([nodeIp])
  const balancer = new SocketBalancer({
    bpf,
    families: ['ipv4'],
    pins,
    cgroup,
    programs,
    digest,
    settings,
    stale: iterator && { iterator, sockets, onDestroyed() {} },
    owner: 1n,
    kernelNow: () => host.process.monotonicNs(),
    clock: host.clock,
    log,
  })
  return new EbpfBackend({
    family: 'ipv4',
    balancer,
    packets,
    node: () => ({ ownIps: ips, nodePortIps: ips }),
    clock: host.clock,
    log,
  })
}
