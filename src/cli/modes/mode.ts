/** A proxy mode: what it would program, and how it works on a node. */
import type { EbpfOptions } from '../../config/daemon/ebpf-flags.ts'
import type { StartConfig } from '../../config/live/how-fields-change.ts'
import type { ProxyConfig } from '../../config/proxy-config.ts'
import type { Backend, NodeView, RenderedPart } from '../../core/backend.ts'
import type { ModeTraits } from '../../core/explain/mode-traits.ts'
import type { PlannedPiece } from '../../core/inspection.ts'
import type { Logger } from '../../core/logger.ts'
import type { NodeIps } from '../../core/node/node-ips.ts'
import type { RouteKey } from '../../core/route.ts'
import type { ModeAbilities } from '../../core/routing/mode-abilities.ts'
import type { ServingPolicy } from '../../core/routing/serving-policy.ts'
import type { AfterSync } from '../../core/sync/sync-runner.ts'
import type { Tracer } from '../../core/trace.ts'
import type { RouteTraffic } from '../../core/traffic.ts'
import type { IptablesOf } from '../../dataplane/iptables/find-iptables.ts'
import type { LendRelay } from '../../dataplane/relay/lend-relay.ts'
import type { KeptSockets } from '../../net/kept-sockets.ts'
import type { Family } from '../../net/ip.ts'
import type { MetricRegistry } from '../../observe/metrics/prometheus.ts'
import type { ProxyMetricFamilies } from '../../observe/metrics/proxy-metric-families.ts'
import type { Host } from '../host/host.ts'
import type { Workings } from './workings.ts'

export interface Mode {
  readonly name: string
  /** This process carries the connections itself, instead of telling a kernel how to. */
  readonly carriesTraffic: boolean
  readonly endpointRules: ServingPolicy['endpointRules']
  readonly abilities: ServingPolicy['abilities']
  /** The same on this machine, where that depends on it. Absent: nothing does. */
  abilitiesAt?(host: Pick<Host, 'exec' | 'clock'>, family: Family, signal: AbortSignal): Promise<ModeAbilities>
  /** What its clients meet, on a node that is as the mode wants it. */
  traits(config: ProxyConfig, ebpf: EbpfOptions): ModeTraits
  /** Whether Services may have loopback addresses on such a node, as `allowsLoopback` of how it works there. Absent: nowhere. */
  allowsLoopbackAt?(place: ModePlace): boolean
  /** Touches nothing yet. A mode that can work in several ways chooses one, and logs which. */
  onNode(context: ModeContext): ModeOnNode
  render(view: NodeView, settings: RenderSettings): readonly RenderedPart[]
  /** What it would program for one route of the view. */
  pieces(view: NodeView, settings: RenderSettings, key: RouteKey): readonly PlannedPiece[]
}

/** What `render` and a running backend both need to know. */
export interface ModeSettings {
  readonly config: ProxyConfig
  /** With `primary` already replaced by CIDRs. */
  readonly nodePortAddresses: readonly string[]
  /** Those of this Node. */
  readonly podCIDRs: readonly string[]
  /** Addresses of this machine, as of now. */
  readonly localIps: () => readonly string[]
}

export interface RenderSettings extends ModeSettings {
  /** Of the HNS network of a Windows node; `auto`: as the configuration suggests. */
  readonly hnsNetworkType: 'auto' | 'L2Bridge' | 'Overlay'
  readonly ebpf: EbpfOptions
}

/** What decides between several ways to work. */
export interface ModePlace {
  readonly host: Pick<Host, 'platform' | 'process' | 'env'>
  /** The node's primary address; a loopback address when it has none. */
  readonly nodeIp: string
  /** Addresses of this machine, as of now. */
  readonly localIps: () => readonly string[]
}

export interface ModeContext extends ModePlace {
  /** What stays for as long as the process runs. */
  readonly config: StartConfig
  /** As of now: for what is done once. */
  readonly settings: () => ModeSettings
  /** What the current sync of the family is made from, or the last one. */
  readonly settingsOf: (family: Family) => ModeSettings
  readonly host: Host
  readonly nodeIps: NodeIps['ips']
  readonly primaryFamily: Family
  /** Where the process keeps notes of its own; empty: nowhere. */
  readonly stateDir: string
  /** What carries connections in the userspace mode: one for both families. */
  readonly borrowRelay: LendRelay
  /** In the userspace mode: whose address pods see. */
  readonly clientAddress: 'auto' | 'node'
  readonly ebpf: EbpfOptions
  /** In the userspace mode: to be told which ports are left, for a series. */
  readonly noteProxyPorts: (family: Family, ports: ProxyPorts) => void
  /** Where listening sockets come from and go to, when one process takes over from another. */
  readonly sockets: KeptSockets
  /** Of the proxy that serves this node, once another process has taken over. Undefined: not known. */
  readonly currentMode: () => Promise<string | undefined>
  /** The host's iptables, looked for once. */
  readonly iptablesOf: IptablesOf
  readonly metrics: ProxyMetricFamilies
  /** For families that kube-proxy does not have. */
  readonly registry: MetricRegistry
  readonly tracer: Tracer
  readonly log: Logger
}

export interface ProxyPorts {
  countFree(protocol: 'TCP' | 'UDP'): number
}

/** What the daemon needs of a mode. */
export interface ModeOnNode extends Workings {
  readonly name: string
  readonly traits: ModeTraits
  /** Whether the tools and the kernel of this machine can program the family. */
  supports(family: Family, signal: AbortSignal): Promise<boolean>
  /** What has to be added to this machine before it supports the family, if that is known. */
  whatIsMissing?(family: Family, signal: AbortSignal): Promise<string | undefined>
  /** Makes the privileged settings of the machine, before anything is programmed; again when they have changed. */
  prepare(settings: ModeSettings): Promise<void>
  createBackend(family: Family, signal: AbortSignal): Promise<ModeBackend>
}

/** See `ConnectionReader`. */
export interface OpenConnectionsReader {
  read(view: NodeView, signal: AbortSignal): Promise<ReadonlyMap<RouteKey, RouteTraffic>>
  /** What kept the last reading from knowing more. */
  readonly note: string | undefined
}

export interface ModeBackend {
  readonly backend: Backend
  /** Runs after each successful sync. */
  readonly afterSync: readonly AfterSync[]
  /** Knows what is open now, where the backend does not. */
  readonly openConnections?: OpenConnectionsReader
  /** What it can do on this node of what Services wish. Absent: all that the mode can do. */
  readonly abilities?: ModeAbilities
}
