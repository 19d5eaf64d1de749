import type { FeatureGates } from './feature-gates.ts'
import type { VmoduleItem } from './flags/flag-types.ts'
import type { Quantity } from './quantity.ts'

export type ProxyMode = 'iptables' | 'ipvs' | 'nftables' | 'ebpf' | 'userspace' | 'kernelspace'

/** How traffic of local pods is recognised. Empty on Windows, where nothing needs it. */
export type DetectLocalMode = 'ClusterCIDR' | 'NodeCIDR' | 'BridgeInterface' | 'InterfaceNamePrefix' | ''

/**
 * KubeProxyConfiguration as Fairlead uses it: every default is filled in, durations are in milliseconds, and what the
 * file has once per mode (sync periods, masqueradeAll) is here once, for the mode that runs.
 */
export interface ProxyConfig extends UncheckedConfig {
  readonly mode: ProxyMode
  readonly detectLocalMode: DetectLocalMode
}

/** A complete configuration that has not been validated: only the types of its values are right. */
export interface UncheckedConfig {
  readonly featureGates: FeatureGates
  readonly clientConnection: ClientConnection
  readonly logging: LoggingConfig
  /** Empty: the host name. */
  readonly hostnameOverride: string
  /** Overrides the node's primary IP unless it is 0.0.0.0 or ::. No socket is bound to it. */
  readonly bindAddress: string
  /** `IP:port`; empty: no server. */
  readonly healthzBindAddress: string
  readonly metricsBindAddress: string
  readonly bindAddressHardFail: boolean
  readonly enableProfiling: boolean
  readonly showHiddenMetricsForVersion: string
  readonly mode: string
  readonly syncPeriodMs: number
  readonly minSyncPeriodMs: number
  readonly masqueradeAll: boolean
  readonly iptables: { readonly masqueradeBit: number; readonly localhostNodePorts: boolean }
  readonly ipvs: IpvsConfig
  readonly nftables: { readonly masqueradeBit: number }
  readonly winkernel: WinkernelConfig
  readonly detectLocalMode: string
  readonly detectLocal: {
    readonly bridgeInterface: string
    readonly interfaceNamePrefix: string
    readonly clusterCidrs: readonly string[]
  }
  /** CIDRs, or only the word `primary`. */
  readonly nodePortAddresses: readonly string[]
  readonly oomScoreAdj: number
  readonly conntrack: ConntrackConfig
  readonly configSyncPeriodMs: number
  /** Where the userspace mode takes its proxy ports from, as `parsePortRange` reads it. Other modes do not use it. */
  readonly portRange: string
  readonly windowsRunAsService: boolean
  readonly fairlead: FairleadConfig
}

interface ClientConnection {
  readonly kubeconfig: string
  readonly acceptContentTypes: string
  readonly contentType: string
  readonly qps: number
  readonly burst: number
}

export interface LoggingConfig {
  readonly format: string
  readonly flushFrequencyMs: number
  /** The file had nanoseconds as a number, so it is written back like that. */
  readonly isFlushFrequencyNumeric: boolean
  readonly verbosity: number
  readonly vmodule: readonly VmoduleItem[]
  readonly text: LogStreams
  readonly json: LogStreams
}

export interface LogStreams {
  readonly splitStream: boolean
  readonly infoBufferSize: Quantity
}

export interface IpvsConfig {
  /** Empty: rr. */
  readonly scheduler: string
  readonly excludeCidrs: readonly string[]
  readonly strictArp: boolean
  readonly tcpTimeoutMs: number
  readonly tcpFinTimeoutMs: number
  readonly udpTimeoutMs: number
}

interface WinkernelConfig {
  readonly networkName: string
  readonly sourceVip: string
  readonly enableDsr: boolean
  readonly rootHnsEndpointName: string
  readonly forwardHealthCheckVip: boolean
}

/** A timeout of 0 leaves the kernel setting alone. */
export interface ConntrackConfig {
  readonly maxPerCore: number
  readonly min: number
  readonly tcpEstablishedTimeoutMs: number
  readonly tcpCloseWaitTimeoutMs: number
  readonly tcpBeLiberal: boolean
  readonly udpTimeoutMs: number
  readonly udpStreamTimeoutMs: number
}

/** What kube-proxy does not have: the second document of the file (FairleadConfiguration), or flags, which win. */
export interface FairleadConfig {
  /** With more Service ports than this, `/metrics` has no series for each of them. */
  readonly serviceSeriesLimit: number
  readonly strictSourceRanges: boolean
  readonly externalIPGuard: GuardMode
  /** External IPs must be in one of them; empty: anywhere. */
  readonly externalIPCIDRs: readonly string[]
  /** Annotations of a Namespace change both for its Services. */
  readonly externalIPGuardNamespaces: boolean
  /** Node ports on 127.0.0.1 and ::1, whatever the mode does of its own. Undefined: as the mode has it. */
  readonly localhostNodePorts: boolean | undefined
  /** Sockets of clients on this node are destroyed where a Service has a `fairlead.dev/max-connection-age`. */
  readonly destroyOldConnections: boolean
}

/** Whether rules of the iptables mode open node ports on 127.0.0.0/8, which the kernel has to route for that. */
export function routesLocalhost({ iptables, fairlead }: Pick<UncheckedConfig, 'iptables' | 'fairlead'>): boolean {
  return iptables.localhostNodePorts && fairlead.localhostNodePorts !== false
}

export const guardModes = ['warn', 'deny', 'off'] as const

/** What becomes of external and load-balancer IPs that belong to the cluster or to another namespace. */
export type GuardMode = (typeof guardModes)[number]

/** The bit of the packet mark that asks for masquerading, in the mode that runs. */
export function masqueradeBit(config: UncheckedConfig): number {
  return programsNftables(config.mode) ? config.nftables.masqueradeBit : config.iptables.masqueradeBit
}

/** The ebpf mode leaves packets to the same table, so it has the same settings. */
export function programsNftables(mode: string): boolean {
  return mode === 'nftables' || mode === 'ebpf'
}
