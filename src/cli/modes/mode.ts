/** A proxy mode: what it can do on this machine, and how its backends are made. */
import type { ListenPolicy } from '../../backends/userspace/plan.ts'
import type { ProxyConfig } from '../../config/proxy-config.ts'
import type { Backend, NodeView, RenderedPart } from '../../core/backend.ts'
import type { Clock } from '../../core/clock.ts'
import type { Logger } from '../../core/logger.ts'
import type { AfterSync } from '../../core/sync/sync-runner.ts'
import type { IptablesOf } from '../../dataplane/iptables/find-iptables.ts'
import type { LendRelay } from '../../dataplane/relay/shared-relay.ts'
import type { Family } from '../../net/ip.ts'
import type { ProxyMetricFamilies } from '../../observe/metrics/proxy-metric-families.ts'

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

export interface ModeContext extends ModeSettings {
  /** Where the userspace mode listens, when it has no portals. */
  readonly listen: ListenPolicy
  /** Above this many Service ports nobody asks how many connections each got. */
  readonly serviceSeriesLimit: number
  /** What carries connections in the userspace mode: one for both families. */
  readonly borrowRelay: LendRelay
  /** This host's, found once. */
  readonly iptablesOf: IptablesOf
  readonly metrics: ProxyMetricFamilies
  readonly clock: Clock
  readonly log: Logger
}

export interface Mode extends RunnableMode {
  /** For a mode that can work in another way: that way, when it suits this node better. Says in the log which it is. */
  onNode?(node: NodeAtHand, context: ModeContext): RunnableMode | undefined
  render(view: NodeView, settings: ModeSettings): readonly RenderedPart[]
}

/** The machine that the daemon runs on. */
export interface NodeAtHand {
  /** The node's primary address; a loopback address when it has none. */
  readonly ip: string
  readonly platform: NodeJS.Platform
  readonly isRoot: boolean
}

/** What the daemon needs of a mode. */
export interface RunnableMode {
  readonly name: string
  /** Programs the kernel, which then tracks connections; so its conntrack settings matter. */
  readonly usesKernel: boolean
  /** Whether the tools and the kernel of this machine can program the family. */
  supports(family: Family, context: ModeContext, signal: AbortSignal): Promise<boolean>
  /** What is missing on this machine for a family that is not supported; undefined when nobody can tell. */
  whatIsMissing?(family: Family, context: ModeContext, signal: AbortSignal): Promise<string | undefined>
  /** Privileged settings of the machine, before anything is programmed: all that --init-only does. */
  prepare(context: ModeContext): Promise<void>
  createBackend(family: Family, context: ModeContext, signal: AbortSignal): Promise<ModeBackend>
}

interface ModeBackend {
  readonly backend: Backend
  /** Runs after each successful sync. */
  readonly afterSync: readonly AfterSync[]
}
