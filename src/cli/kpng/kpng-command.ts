/**
 * `fairlead kube|file|api|local to-…`: KPNG's commands. A source knows the cluster, a sink does something with it; the
 * flags of both may stand before or after the sink's name.
 */
import { renderFlagHelp } from '../../config/flags/flag-help.ts'
import { parseFlags } from '../../config/flags/flag-set.ts'
import type { FlagTable, FlagValues } from '../../config/flags/flag.ts'
import { systemClock } from '../../core/clock.ts'
import type { ChangeSet } from '../../kpng/client/change-set.ts'
import { KpngError } from '../../kpng/kpng-error.ts'
import { BackendDriver } from '../../kpng/sdk/backend-driver.ts'
import { GlobalStore } from '../../kpng/store/global-store.ts'
import { createLogger } from '../../observe/logging/create-logger.ts'
import type { RootLogger } from '../../observe/logging/create-logger.ts'
import { MetricRegistry } from '../../observe/metrics/prometheus.ts'
import { KubeError } from '../../sources/kube/kube-error.ts'
import { CommandError } from '../program.ts'
import type { Program } from '../program.ts'
import { runAll } from '../run-all.ts'
import type { Runnable } from '../run-all.ts'
import {
  apiFlags,
  commonFlags,
  execFlags,
  fileFlags,
  kubeFlags,
  nodeFlags,
  printFlags,
  toApiFlags,
  toFileFlags,
} from './kpng-flags.ts'
import { nodeNameFrom, openLocalFeed } from './local-feed.ts'
import { metricsServer } from './metrics-endpoint.ts'
import { openModel } from './open-model.ts'
import type { ModelSource } from './open-model.ts'
import { apiServer } from './to-api.ts'
import { ExecBackend } from './to-exec.ts'
import { printChanges } from './to-local.ts'
import { stateWriter } from './to-file.ts'
import { loadBackend } from './to-module.ts'
import { checkSink, modeOfSink, sinkHelp } from './sinks.ts'
import { runMode } from './to-mode.ts'
import type { KpngSource } from './to-mode.ts'

const about: Readonly<Record<KpngSource, string>> = {
  kube: 'Reads the cluster from its API server.',
  file: 'Reads the cluster from files of Kubernetes objects.',
  api: 'Follows a KPNG server.',
  local: 'Follows a KPNG server (the same as api).',
}

export function kpngCommand(source: KpngSource) {
  return async (argv: readonly string[], program: Program, signal: AbortSignal): Promise<number> => {
    const { words, flags, command } = splitCommandLine(argv)
    // The last word counts: in `to-local to-nft` the first only says where the state is computed.
    const sink = words.at(-1)
    if (sink === undefined && flags.some((flag) => flag === '--help' || flag === '-h')) {
      program.out(`${about[source]}\n\nUsage:\n  fairlead ${source} SINK [flags]\n\nSinks:\n${sinkHelp}\n`)
      return 0
    }
    checkSink(sink)
    try {
      const mode = modeOfSink(sink)
      if (mode !== undefined)
        return await runMode({ source, sink, about: about[source], mode, argv: flags }, program, signal)
      return await runSink({ source, sink, flags, command }, program, signal)
    } catch (error) {
      if (error instanceof KpngError || error instanceof KubeError)
        throw new CommandError(error.message, { cause: error })
      throw error
    }
  }
}

interface CommandLine {
  /** `to-local`, `to-nftables`, … in the order given. */
  readonly words: readonly string[]
  readonly flags: readonly string[]
  /** What comes after `--`. */
  readonly command: readonly string[]
}

function splitCommandLine(argv: readonly string[]): CommandLine {
  const end = argv.indexOf('--')
  const own = end < 0 ? argv : argv.slice(0, end)
  return {
    words: own.filter((argument) => argument.startsWith('to-')),
    flags: own.filter((argument) => !argument.startsWith('to-')),
    command: end < 0 ? [] : argv.slice(end + 1),
  }
}

interface SinkCommand {
  readonly source: KpngSource
  readonly sink: string
  readonly flags: readonly string[]
  readonly command: readonly string[]
}

async function runSink(line: SinkCommand, program: Program, signal: AbortSignal): Promise<number> {
  const { source, sink } = line
  const sinkFlags = flagsOfSink(sink)
  const sourceFlags = source === 'kube' ? kubeFlags : source === 'file' ? fileFlags : apiFlags
  const read = parseFlags({ ...commonFlags, ...sourceFlags, ...sinkFlags }, withListenAlias(line), program.platform)
  const usage = `fairlead ${source} ${sink}`
  if (!read.ok) throw new CommandError(`${read.problem} (see ${usage} --help)`)
  if (read.wantsHelp) {
    const table: FlagTable = { ...sourceFlags, ...sinkFlags, ...commonFlags }
    program.out(`${about[source]}\n\nUsage:\n  ${usage} [flags]\n\n${renderFlagHelp(table, program.platform)}`)
    return 0
  }
  if (read.positionals.length > 0)
    throw new CommandError(`${usage} takes no argument "${read.positionals[0]}" (see ${usage} --help)`)
  const values = read.values as AllValues
  const log = loggerWith(values.v)
  try {
    const context = { line, values, log, program, model: modelSource(source, values) }
    await (sink === 'to-api' || sink === 'to-file' ? keepModel(context, signal) : followLocally(context, signal))
    return 0
  } finally {
    log.flush()
  }
}

function flagsOfSink(sink: string) {
  switch (sink) {
    case 'to-api':
      return toApiFlags
    case 'to-file':
      return toFileFlags
    case 'to-exec':
      return { ...nodeFlags, ...execFlags }
    default:
      return { ...nodeFlags, ...printFlags }
  }
}

type AllValues = FlagValues<typeof commonFlags> &
  FlagValues<typeof kubeFlags> &
  FlagValues<typeof fileFlags> &
  FlagValues<typeof apiFlags> &
  FlagValues<typeof toApiFlags> &
  FlagValues<typeof nodeFlags> &
  FlagValues<typeof printFlags> &
  FlagValues<typeof execFlags> &
  FlagValues<typeof toFileFlags>

interface SinkContext {
  readonly line: SinkCommand
  /** Only those of the command's own flags are there. */
  readonly values: AllValues
  readonly model: ModelSource
  readonly log: RootLogger
  readonly program: Program
}

/** Where no other API is followed, `--api` can only mean the one that is served. */
function withListenAlias({ source, sink, flags }: SinkCommand): readonly string[] {
  if (sink !== 'to-api' || source === 'api' || source === 'local') return flags
  return flags.map((flag) => (flag === '--api' ? '--listen' : flag.replace(/^--api=/, '--listen=')))
}

function modelSource(source: KpngSource, values: AllValues): ModelSource {
  if (source === 'kube' || source === 'file') return { kind: source, values }
  return { kind: 'api', values }
}

/** The state of the whole cluster, served or written down. */
async function keepModel({ line, values, model, log }: SinkContext, signal: AbortSignal): Promise<void> {
  const clock = systemClock
  const store = new GlobalStore()
  const registry = new MetricRegistry()
  registry.addProcessMetrics()
  const parts: Runnable[] = [await openModel(model, { store, clock, log, registry })]
  const problem = () => (store.isSynced ? undefined : incomplete)
  if (values.exportMetrics !== '')
    parts.push(metricsServer({ address: values.exportMetrics, registry, problem, clock, log }))
  // Last, because it listens at once: what else is wrong has shown by now.
  parts.push(
    line.sink === 'to-api'
      ? await apiServer({ store, values, registry, clock, log })
      : stateWriter({ store, path: values.output, log }),
  )
  await runAll(parts, signal)
}

const incomplete = 'the state is not complete yet'

async function followLocally(context: SinkContext, signal: AbortSignal): Promise<void> {
  const { values, model, log, program } = context
  const clock = systemClock
  const node = nodeNameFrom(values['node-name'], program.env)
  const done = new AbortController()
  const running = AbortSignal.any([signal, done.signal])
  const registry = new MetricRegistry()
  registry.addProcessMetrics()
  const feed = await openLocalFeed(model, node, { clock, log, registry })
  const sink = await openSink(context, node, running)
  const follow = async (until: AbortSignal) => {
    await using owned = sink
    await feed.follow(async (changes) => {
      await owned.apply(changes, until)
      if (values.once) done.abort()
    }, until)
  }
  const parts: Runnable[] = [{ run: follow }, ...sink.parts]
  if (values.exportMetrics !== '')
    parts.push(metricsServer({ address: values.exportMetrics, registry, problem: () => sink.problem(), clock, log }))
  await runAll(parts, running)
}

/** What is done with the state of a node. */
interface LocalSink extends AsyncDisposable {
  apply(changes: ChangeSet, signal: AbortSignal): Promise<void>
  /** What else must run for it. */
  readonly parts: readonly Runnable[]
  /** Why what was applied last is not in force; undefined when it is. */
  problem(): string | undefined
}

/** A mistake in the command line shows now, before anything is asked of a server. */
async function openSink(
  { line, values, log, program }: SinkContext,
  node: string,
  signal: AbortSignal,
): Promise<LocalSink> {
  const clock = systemClock
  if (line.sink === 'to-exec') {
    const answerWithinMs = values['answer-within']
    const backend = new ExecBackend({ command: line.command, node, answerWithinMs, clock, log })
    return {
      apply: (changes, until) => backend.apply(changes, until),
      parts: [backend],
      problem: () => backend.problem,
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }
  }
  if (line.sink === 'to-module') {
    const driver = new BackendDriver(await loadBackend(line.command), { node, log, signal }, clock)
    return {
      apply: (changes) => driver.apply(changes),
      parts: [],
      problem: () => driver.problem,
      [Symbol.asyncDispose]: () => driver[Symbol.asyncDispose](),
    }
  }
  let hasPrinted = false
  return {
    apply(changes) {
      printChanges(changes, program)
      hasPrinted = true
      return Promise.resolve()
    },
    parts: [],
    problem: () => (hasPrinted ? undefined : incomplete),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
}

function loggerWith(verbosity: number): RootLogger {
  return createLogger(
    { format: 'text', verbosity, vmodule: [], flushIntervalMs: 5_000, splitStream: false, infoBufferBytes: 0 },
    { stdout: process.stdout, stderr: process.stderr },
    { clock: systemClock, pid: process.pid },
  )
}
