/** The proxy whose node is examined: what its command line and its configuration say. */
import type { EbpfOptions } from '../../config/daemon/ebpf-flags.ts'
import { programsNftables, type ProxyConfig } from '../../config/proxy-config.ts'
import type { Family } from '../../net/ip.ts'
import type { Host } from '../host/host.ts'

export interface Setup {
  readonly platform: NodeJS.Platform
  readonly config: ProxyConfig
  readonly nodeName: string
  /** Empty: none. */
  readonly stateDir: string
  /** Files and directories with objects; empty: a cluster. */
  readonly objects: readonly string[]
  readonly logFile: string
  /** `node`: the operator wants pods to see the node in userspace mode. */
  readonly clientAddress: 'auto' | 'node'
  readonly ebpf: EbpfOptions
  /** The proxy has not run yet: what it will make itself need not be there. */
  readonly isBeforeStart: boolean
  readonly isRoot: boolean
  readonly cpus: number
  readonly kernelRelease: string
  /** Those of this machine. */
  readonly families: readonly Family[]
}

type ToldSetup = Pick<
  Setup,
  'config' | 'nodeName' | 'stateDir' | 'objects' | 'logFile' | 'clientAddress' | 'ebpf' | 'isBeforeStart'
>

/** What the proxy was told, and what the machine says of itself. */
export function setupOn(host: Host, told: ToldSetup): Setup {
  return {
    ...told,
    platform: host.platform,
    isRoot: host.process.isRoot,
    cpus: host.cpus(),
    kernelRelease: host.kernelRelease(),
    families: host.hasIpv6() ? ['ipv4', 'ipv6'] : ['ipv4'],
  }
}

/** The kernel leads packets to endpoints, so it has to forward them. */
export function forwardsInKernel({ config: { mode } }: Setup): boolean {
  return programsNftables(mode) || mode === 'iptables' || mode === 'ipvs'
}

/** The userspace mode without root serves loopback only, and writes no rules. */
export function usesIptables({ config: { mode }, isRoot }: Pick<Setup, 'config' | 'isRoot'>): boolean {
  return mode === 'iptables' || mode === 'ipvs' || (mode === 'userspace' && isRoot)
}

/** Of the kernel of Linux. */
export function usesRules(setup: Setup): boolean {
  return programsNftables(setup.config.mode) || usesIptables(setup)
}
