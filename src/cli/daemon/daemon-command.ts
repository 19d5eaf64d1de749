/** `fairlead [flags]`: what kube-proxy's command line does. */
import { parseDaemonCommandLine } from '../../config/daemon/parse-daemon-command-line.ts'
import type { DaemonOptions } from '../../config/daemon/parse-daemon-command-line.ts'
import { renderConfigYaml } from '../../config/file/render-config.ts'
import { RunningConfig } from '../../config/live/running-config.ts'
import type { ProxyConfig } from '../../config/proxy-config.ts'
import type { ModeAbilities } from '../../core/routing/mode-abilities.ts'
import type { TraceTarget } from '../../observe/tracing/otlp/otlp-settings.ts'
import { findMode } from '../modes/find-mode.ts'
import type { ApiSource } from './cluster-source.ts'
import { CommandError, fairleadVersion } from '../program.ts'
import { refuseAlgorithm } from './refuse-algorithm.ts'
import type { Program } from '../program.ts'
import type { LoadedConfig } from './load-config.ts'
import { loadConfig } from './load-config.ts'
import type { Host } from '../host/host.ts'
import { loggerFor } from '../host/logger-for.ts'
import { paint } from '../terminal.ts'
import { traceTarget } from '../tracing/trace-target.ts'
import { renderVersion } from '../version.ts'

/** Below kube-proxy's flags, so that people find the commands that kube-proxy does not have. */
const commandHelp = `Commands:
  fairlead debug     Prints a debug page of a running proxy.
  fairlead demo      Runs a sample application here: no root, no cluster.
  fairlead doctor    Finds what keeps Services from working on this node.
  fairlead explain   Says what becomes of a connection, and why.
  fairlead migrate   Says what differs from a kube-proxy, and the way back.
  fairlead render    Prints what a mode would program: no root, no cluster.
  fairlead top       Shows what Services carry, live.
  fairlead trace     Shows what the last syncs of a running proxy did.
  fairlead kube      Serves the state of the cluster to other processes.
                     Also: file, api, local.
  fairlead help      Prints this text; "fairlead help render" that of a command.
  fairlead version   Prints the version, as --version does.
`

/** What the command line of the daemon does not tell, when another command runs it. */
export interface OtherSource {
  /** Where the objects come from, when that is neither a cluster nor files. */
  readonly api?: ApiSource
  /** The mode that the command is named after; it wins over the one in a configuration file. */
  readonly mode?: string
}

export async function daemonCommand(
  argv: readonly string[],
  program: Program,
  signal: AbortSignal,
  other: OtherSource = {},
): Promise<number> {
  const parsed = parseDaemonCommandLine(argv, program.host.platform, program.stdout.columns)
  switch (parsed.kind) {
    case 'help':
      program.out(`${parsed.text}\n${commandHelp}`)
      return 0
    case 'version':
      program.out(renderVersion(parsed.format, program.host))
      return 0
    case 'refused':
      program.err(`${parsed.usage}\n${paint(program.stderr, 'red', 'Error:')} ${parsed.message}\n`)
      return 1
    case 'run':
      for (const warning of parsed.warnings) program.err(`${warning}\n`)
      return runWith(parsed.options, Object.fromEntries(parsed.flagValues), program, signal, other)
    default:
      return parsed satisfies never
  }
}

async function runWith(
  options: DaemonOptions,
  flags: Readonly<Record<string, string>>,
  program: Program,
  signal: AbortSignal,
  other: OtherSource,
): Promise<number> {
  const loaded = await loadConfig(options, program.host, other.mode)
  const { action } = options
  switch (action.kind) {
    case 'write-config':
      await writeConfig(action.path, loaded.config, program.host)
      return 0
    case 'cleanup': {
      const { cleanupCommand } = await import('../cleanup/cleanup-command.ts')
      const { isDryRun, isOwnTablesOnly } = action
      return cleanupCommand(
        { isDryRun, isOwnTablesOnly, stateDir: options.stateDir, pins: options.ebpf.pins, program },
        signal,
      )
    }
    case 'init-only':
    case 'serve': {
      const target = traceTarget(options.tracing.endpoint, program.host.env)
      const isInitOnly = action.kind === 'init-only'
      return serve({ options, loaded, flags, program, isInitOnly, other, traceTarget: target }, signal)
    }
    default:
      return action satisfies never
  }
}

async function writeConfig(path: string, config: ProxyConfig, host: Pick<Host, 'writeTextFile'>): Promise<void> {
  try {
    await host.writeTextFile(path, renderConfigYaml(config))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new CommandError(`cannot write the configuration to --write-config-to=${path}: ${reason}`, { cause: error })
  }
}

interface Serving {
  readonly options: DaemonOptions
  readonly loaded: LoadedConfig
  readonly flags: Readonly<Record<string, string>>
  readonly program: Program
  readonly isInitOnly: boolean
  readonly other: OtherSource
  readonly traceTarget: TraceTarget
}

async function serve(serving: Serving, signal: AbortSignal): Promise<number> {
  const { options, loaded, flags, program, isInitOnly, other, traceTarget } = serving
  const { host } = program
  const { config, warnings } = loaded
  const file = loaded.file && {
    ...loaded.file,
    parse: (content: string, mode?: string) => parseAgain(content, serving, mode),
  }
  const log = loggerFor(config.logging, host)
  for (const warning of warnings) log.warn('configuration', { warning })
  try {
    const mode = await findMode(config.mode, host.platform)
    refuseAlgorithm(options, mode.abilities)
    refusePodWeights(options, other, mode.abilities)
    refuseNamespaces(config, other)
    if (!mode.carriesTraffic) host.process.keepYoungHeapSmall()
    const version = fairleadVersion()
    log.info('starting Fairlead', { version, mode: mode.name, pid: host.process.pid })
    log.debug(1, 'flags', flags)
    const { runDaemon } = await import('./run-daemon.ts')
    const { onRunning, hangups } = program
    // Before there is anything to read again, there is no reason to end either.
    using untilServing = file && options.onConfigChange === 'apply' ? hangups.listen(() => {}) : undefined
    void untilServing
    const running = new RunningConfig(config)
    await runDaemon(
      {
        ...options,
        ...other,
        config,
        running,
        file,
        mode,
        flags,
        isInitOnly,
        traceTarget,
        version,
        host,
        log,
        onRunning,
        hangups,
      },
      signal,
    )
    log.info('stopped')
    return 0
  } catch (error) {
    log.error('command failed', { err: error })
    return 1
  } finally {
    log.flush()
  }
}

function refusePodWeights(
  { readsPodWeights, objects }: DaemonOptions,
  { api }: OtherSource,
  { mode, weights }: ModeAbilities,
) {
  if (!readsPodWeights) return
  if (!weights) throw new CommandError(`--pod-weights: the ${mode} mode knows no weights; leave the flag out`)
  if (api !== undefined || objects.length > 0)
    throw new CommandError('--pod-weights needs an API server to watch pods; leave the flag out')
}

function refuseNamespaces({ fairlead }: ProxyConfig, { api }: OtherSource): void {
  if (fairlead.externalIPGuardNamespaces && api !== undefined)
    throw new CommandError(
      '--external-ip-guard-namespaces: a KPNG core does not tell nodes about Namespaces; leave it out',
    )
}

/** Another content of the file, under the same flags. */
function parseAgain(
  content: string,
  { options, program: { host }, other }: Serving,
  mode = other.mode,
): Promise<LoadedConfig> {
  const { platform, findFile } = host
  return loadConfig(options, { platform, findFile, readTextFile: () => Promise.resolve(content) }, mode)
}
