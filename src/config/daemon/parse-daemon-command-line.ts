import { breakWords } from '../flags/break-words.ts'
import { flagsOn } from '../flags/flag.ts'
import { renderFlagHelp } from '../flags/flag-help.ts'
import { type FlagsRead, parseFlags } from '../flags/flag-set.ts'
import { consoleProblem, consoleSettings } from './console-flags.ts'
import type { ConsoleSettings } from './console-flags.ts'
import { ebpfOptions, ebpfProblem } from './ebpf-flags.ts'
import type { EbpfOptions } from './ebpf-flags.ts'
import { type DaemonFlagName, daemonFlags, type DaemonFlagValues } from './daemon-flags.ts'
import { shortened } from '../../net/shown-value.ts'

export type DaemonCommandLine =
  | { readonly kind: 'help'; readonly text: string }
  | { readonly kind: 'version'; readonly format: 'plain' | 'raw' }
  /** For stderr, usage first; exit code 1. */
  | { readonly kind: 'refused'; readonly message: string; readonly usage: string }
  | {
      readonly kind: 'run'
      readonly options: DaemonOptions
      /** For `/flagz` and the log. */
      readonly flagValues: ReadonlyMap<string, string>
      readonly warnings: readonly string[]
    }

/** What to do once the configuration is valid. If several are asked for, the first of this list is done. */
type Action =
  | { readonly kind: 'write-config'; readonly path: string }
  | { readonly kind: 'cleanup'; readonly isDryRun: boolean; readonly isOwnTablesOnly: boolean }
  | { readonly kind: 'init-only' }
  | { readonly kind: 'serve' }

/** What the command line asks for, before the configuration file is read. */
export interface DaemonOptions {
  /** Empty: the flags are the configuration. */
  readonly configFile: string
  /** What a change of the file does. */
  readonly onConfigChange: 'apply' | 'exit'
  readonly removesNotReadyTaint: boolean
  readonly action: Action
  readonly master: string
  readonly windowsService: boolean
  /** Files and directories to read objects from; if empty, a cluster is used. */
  readonly objects: readonly string[]
  readonly stateDir: string
  /** From the proxy that runs, instead of waiting for its end. */
  readonly takesOver: boolean
  /** Empty: the usual place. */
  readonly debugSocket: string
  readonly debugSocketGroup: string
  /** Undefined: there is no console. */
  readonly console: ConsoleSettings | undefined
  /** How an endpoint is chosen where a Service does not say; empty: as the mode does it. */
  readonly algorithm: DaemonFlagValues['algorithm']
  /** Labels of pods are weights. */
  readonly readsPodWeights: boolean
  readonly userspace: {
    /** Threads that carry connections; 0: one per core. */
    readonly workers: number
    readonly engine: 'auto' | 'native' | 'node'
    /** Whose address pods see. */
    readonly clientAddress: 'auto' | 'node'
    /** How long connections may outlive their endpoint; by default until they end. */
    readonly drainTimeoutMs: number | undefined
  }
  readonly ebpf: EbpfOptions
  readonly tracing: {
    /** The URL of a collector; if empty, OpenTelemetry's variables decide. */
    readonly endpoint: string
    /** Of so many connections in userspace mode one is traced; 0: none. */
    readonly connectionsPerTrace: number
  }
  /** Canonical IP addresses; if empty, those of the Node object. */
  readonly nodeAddresses: readonly string[]
  /** Another build of the same release, to be reported as our version. */
  readonly reportedVersion: string | undefined
  /** The parsed flags, from which `completeOptions` makes the configuration. */
  readonly flags: DaemonFlagValues
  readonly given: ReadonlySet<DaemonFlagName>
}

/** `columns` is the width of the terminal, if the help text is for one. */
export function parseDaemonCommandLine(
  argv: readonly string[],
  platform: NodeJS.Platform,
  columns?: number,
): DaemonCommandLine {
  const read = parseFlags(daemonFlags, argv, platform)
  if (!read.ok) return refused(read.problem)
  if (read.wantsHelp) return { kind: 'help', text: renderHelp(platform, columns) }
  const { values, given, warnings } = read
  // As in Kubernetes, an empty argument is ignored: templates leave one behind when a variable is empty.
  const extra = read.positionals.filter((argument) => argument !== '')
  if (extra.length > 0) return refused(`fairlead does not take any arguments, got ${shortened(JSON.stringify(extra))}`)
  if (values.version.kind === 'plain' || values.version.kind === 'raw')
    return { kind: 'version', format: values.version.kind }
  const contradiction = findContradiction(read)
  if (contradiction !== undefined) return refused(contradiction)
  return {
    kind: 'run',
    options: {
      configFile: values.config,
      onConfigChange: values['config-change'],
      removesNotReadyTaint: values['remove-not-ready-taint'],
      action: actionOf(values),
      master: values.master,
      windowsService: values['windows-service'],
      objects: values.objects,
      stateDir: values['state-dir'],
      takesOver: values['take-over'],
      debugSocket: values['debug-socket'],
      debugSocketGroup: values['debug-socket-group'],
      console: consoleSettings(values),
      algorithm: values.algorithm,
      readsPodWeights: values['pod-weights'],
      userspace: {
        workers: Math.max(0, values['userspace-workers']),
        engine: values['userspace-engine'],
        clientAddress: values['userspace-client-address'],
        drainTimeoutMs: values['userspace-drain-timeout'] > 0 ? values['userspace-drain-timeout'] : undefined,
      },
      ebpf: ebpfOptions(values),
      tracing: { endpoint: values['otlp-endpoint'], connectionsPerTrace: values['trace-sampling'] },
      nodeAddresses: values['node-address'],
      reportedVersion: values.version.kind === 'report-as' ? values.version.version : undefined,
      flags: values,
      given,
    },
    flagValues: new Map(
      flagsOn(daemonFlags, platform).map(([name, flag]) => [name, flag.type.render(values[name as DaemonFlagName])]),
    ),
    warnings: [...warnings, ...ignoredFlags(read)],
  }
}

function actionOf(values: DaemonFlagValues): Action {
  if (values['write-config-to'] !== '') return { kind: 'write-config', path: values['write-config-to'] }
  if (values.cleanup)
    return { kind: 'cleanup', isDryRun: values['dry-run'], isOwnTablesOnly: values['only-own-tables'] }
  return { kind: values['init-only'] ? 'init-only' : 'serve' }
}

/** Options that exclude each other. Each message names them and the way out. */
function findContradiction({ values, given }: FlagsRead<typeof daemonFlags>): string | undefined {
  for (const cluster of ['kubeconfig', 'master'] as const) {
    if (values.objects.length > 0 && values[cluster] !== '')
      return `--objects and --${cluster} contradict each other: objects come from files or from a cluster, remove one of the two`
  }
  if (given.has('objects') && values.objects.includes(''))
    return '--objects has an empty path: name a file or a directory'
  if (values['dry-run'] && !values.cleanup)
    return '--dry-run works only with --cleanup: add --cleanup, or use "fairlead render" to see what a mode would program'
  if (values['only-own-tables'] && !values.cleanup) return '--only-own-tables works only with --cleanup: add --cleanup'
  if (values['service-series-limit'] < 0)
    return '--service-series-limit must not be negative: give a number of Service ports, or 0 for no series at all'
  if (values['trace-sampling'] < 0)
    return '--trace-sampling must not be negative: give N to trace 1 connection in N, or 0 to trace none'
  return ebpfProblem(values) ?? consoleProblem(values)
}

/** kube-proxy ignores these silently. A person who sets one should be told. */
function ignoredFlags({ values, given }: FlagsRead<typeof daemonFlags>): string[] {
  if (values.config === '') return []
  return [...given].flatMap((name) => {
    const { configField, withConfigFile } = daemonFlags[name]
    if (configField === undefined || withConfigFile !== undefined) return []
    return [`Flag --${name} is ignored because --config is given: set ${configField} in ${values.config} instead`]
  })
}

function refused(message: string): DaemonCommandLine {
  return { kind: 'refused', message, usage: `${usageLine}\n\nRun "fairlead --help" to see every flag.\n` }
}

const usageLine = 'Usage:\n  fairlead [flags]'

function renderHelp(platform: NodeJS.Platform, columns = Number.POSITIVE_INFINITY): string {
  const paragraph = (text: string) => breakWords(text, columns).join('\n')
  return [
    paragraph('Fairlead makes the Services of a Kubernetes cluster reachable on this node, in place of kube-proxy.'),
    usageLine,
    paragraph(
      'With --config, flags that have a field in the file are ignored, except --hostname-override, the logging flags and those of Fairlead.',
    ),
    renderFlagHelp(daemonFlags, platform, columns),
  ].join('\n\n')
}
