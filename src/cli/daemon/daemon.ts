import type { LoadedFile } from '../../config/file/config-file-watch.ts'
import type { DaemonOptions } from '../../config/daemon/parse-daemon-command-line.ts'
import type { StartConfig } from '../../config/live/how-fields-change.ts'
import type { RunningConfig } from '../../config/live/running-config.ts'
import type { Catalog } from '../../core/catalog.ts'
import type { UserspaceOptions } from '../../dataplane/relay/open-relay.ts'
import type { RootLogger } from '../../observe/logging/create-logger.ts'
import type { TraceTarget } from '../../observe/tracing/otlp/otlp-settings.ts'
import type { Host } from '../host/host.ts'
import type { Hangups } from '../hangups.ts'
import type { Mode } from '../modes/mode.ts'
import type { Succession } from '../succession/succession.ts'
import type { ApiSource, ObjectSource } from './cluster-source.ts'
import type { ConsoleDemo } from './console.ts'
import type { ConsoleDoor } from '../console/console-door.ts'
import type { FirstLists } from './first-lists.ts'
import type { DaemonMetrics } from './daemon-metrics.ts'
import type { DaemonTracing } from './daemon-tracing.ts'
import type { LoadedConfig } from './load-config.ts'
import type { SavedStart } from './saved-start.ts'

export interface ConfigFile extends LoadedFile {
  /**
   * What another content would mean, with the flags of the command line; with `mode`, as if it had that one. Throws what
   * is wrong with it.
   */
  parse(content: string, mode?: string): Promise<LoadedConfig>
}

/** What a daemon is asked to do, and the machine it does it on. */
export interface Daemon {
  /** What stays for as long as it runs. */
  readonly config: StartConfig
  /** All of it, as of now. */
  readonly running: RunningConfig
  readonly mode: Mode
  /** Files and directories to read objects from; empty: a cluster. */
  readonly objects: readonly string[]
  /** A KPNG server to follow, instead of a cluster or files. */
  readonly api?: ApiSource
  readonly master: string
  /** Between attempts to reach the API server. The usual one spares a server that thousands of nodes come back to. */
  readonly longestPauseMs?: number
  /** The configuration file that was loaded, to be watched. */
  readonly file: ConfigFile | undefined
  /** What a change of the file does. */
  readonly onConfigChange: DaemonOptions['onConfigChange']
  /** Takes the taint from the Node that keeps pods away, once it is programmed. */
  readonly removesNotReadyTaint: boolean
  /** Ask for the file to be read again. */
  readonly hangups?: Hangups
  readonly stateDir: string
  readonly takesOver: boolean
  /** `unix:///PATH`, `npipe:…`, `none`; empty: the usual place. */
  readonly debugSocket: string
  /** A name or a number; empty: nobody but the owner. */
  readonly debugSocketGroup: string
  readonly console: DaemonOptions['console']
  /** What the demo adds to the console. */
  readonly consoleDemo?: ConsoleDemo
  readonly algorithm: DaemonOptions['algorithm']
  readonly readsPodWeights: boolean
  /** `clientAddress`: whose address pods see. */
  readonly userspace: UserspaceOptions & { readonly clientAddress: 'auto' | 'node' }
  readonly ebpf: DaemonOptions['ebpf']
  readonly tracing: DaemonOptions['tracing']
  /** The collector for its traces. */
  readonly traceTarget: TraceTarget
  readonly nodeAddresses: readonly string[]
  /** Only prepare the machine, then end. */
  readonly isInitOnly: boolean
  /** Every flag with its value, for `/flagz`. */
  readonly flags: Readonly<Record<string, string>>
  readonly version: string
  readonly host: Host
  readonly log: RootLogger
  /** Called when nothing but time stands between us and a running proxy: what is wrong in the configuration has shown. */
  readonly onRunning?: () => void
}

/** What there is before this node is known: the cluster's objects and where they come from. */
export interface ClusterParts {
  readonly nodeName: string
  readonly catalog: Catalog
  readonly metrics: DaemonMetrics
  readonly tracing: DaemonTracing
  readonly source: ObjectSource
  readonly firstLists: FirstLists
  readonly saved: SavedStart
  readonly succession: Succession
  readonly consoleDoor: ConsoleDoor
}
