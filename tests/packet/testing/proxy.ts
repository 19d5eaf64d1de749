/** A service proxy under test: Fairlead in one of its modes, or kube-proxy itself. */
import type { Cluster } from './cluster.ts'
import type { Feature } from './row.ts'
import type { KubernetesObject } from './service-fixture.ts'

/** Whose rules it writes: what becomes of some packets depends on it. */
export type ProxyMode = (typeof proxyModes)[number] | 'ebpf' | 'userspace'

/** Those that the rows speak of; the rows of ebpf and userspace mode are made from them. */
export const proxyModes = ['iptables', 'nftables', 'ipvs'] as const

export interface ProxySettings {
  readonly masqueradeAll?: boolean
  /** How traffic of pods is told apart; the cluster's pod ranges unless given. */
  readonly detectLocal?: 'cluster ranges' | 'interface prefix' | 'not at all'
  /** Where the mode has them of its own, unless told otherwise; in every mode only Fairlead can. */
  readonly localhostNodePorts?: boolean | 'in every mode'
  /** Where node ports are open: on every address of the node unless given. */
  readonly nodePortAddresses?: readonly string[] | 'as the mode has it by default'
  /** Whether `externalIPs` of Services count; they do unless told otherwise. */
  readonly externalIPs?: boolean
  /** Whether source ranges of one family close the other one, which only Fairlead can. */
  readonly strictSourceRanges?: boolean
  /** What becomes of addresses that are not for a Service to take: `--external-ip-guard`. */
  readonly externalIPGuard?: 'warn' | 'deny' | 'off'
  /** Whether annotations of Namespaces change that. */
  readonly externalIPGuardNamespaces?: boolean
  /** The only ones where external IPs are served; everywhere unless given. */
  readonly externalIPRanges?: readonly string[]
  /** Whether clients on the node are told that their connection is too old: `--destroy-old-connections`. */
  readonly destroysOldConnections?: boolean
  /** How soon a sync that failed is tried again, as a duration; 30s unless given. */
  readonly syncPeriod?: string
}

export interface Proxy {
  readonly name: string
  readonly mode: ProxyMode
  /** Why it cannot run here, or undefined when it can. */
  missing(): string | undefined
  /** What this proxy cannot do, and why. */
  readonly cannot: Readonly<Partial<Record<Feature, string>>>
  start(cluster: Cluster, settings: ProxySettings): Promise<RunningProxy>
}

export interface RunningProxy extends AsyncDisposable {
  /** Makes these the objects of the cluster; what was there and is not among them goes. Does not wait for the rules. */
  apply(objects: readonly KubernetesObject[]): Promise<void>
  /** Ends the process; its rules stay. */
  stop(signal: NodeJS.Signals): Promise<void>
  /** Starts it once more, with the objects that are there. */
  run(): void
  /** For the message of a test that fails. */
  log(): string
}
