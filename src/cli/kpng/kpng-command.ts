/**
 * `fairlead kube|file|api|local to-…`: KPNG's commands. A source knows the cluster, a sink does something with it; the
 * flags of both may stand before or after the sink's name.
 */
import { renderFlagHelp } from '../../config/flags/flag-help.ts'
import { parseFlags } from '../../config/flags/flag-set.ts'
import type { FlagTable } from '../../config/flags/flag.ts'
import { KpngError } from '../../kpng/kpng-error.ts'
import { KubeError } from '../../sources/kube/kube-error.ts'
import { textLogger } from '../host/logger-for.ts'
import { CommandError } from '../program.ts'
import type { Program } from '../program.ts'
import { followLocally } from './follow-locally.ts'
import { keepModel } from './keep-model.ts'
import {
  apiFlags,
  behindApiFlags,
  commonFlags,
  execFlags,
  fileFlags,
  kubeFlags,
  nodeFlags,
  printFlags,
  toApiFlags,
  toFileFlags,
} from './kpng-flags.ts'
import type { ModelSource } from './open-model.ts'
import type { SinkCommand, SinkContext, SinkValues } from './sink-context.ts'
import { checkSink, modeOfSink, sinkHelp, sinkNames } from './sinks.ts'
import { runMode } from './to-mode.ts'
import type { KpngSource } from './to-mode.ts'

export const aboutBySource: Readonly<Record<KpngSource, string>> = {
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
      program.out(`${aboutBySource[source]}\n\nUsage:\n  fairlead ${source} SINK [flags]\n\nSinks:\n${sinkHelp}\n`)
      return 0
    }
    checkSink(sink)
    try {
      const mode = modeOfSink(sink)
      if (mode !== undefined)
        return await runMode({ source, sink, about: aboutBySource[source], mode, argv: flags }, program, signal)
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

async function runSink(line: SinkCommand, program: Program, signal: AbortSignal): Promise<number> {
  const { source, sink } = line
  const sinkFlags = flagsOfSink(sink)
  const sourceFlags = flagsOfSource(source)
  const read = parseFlags(
    { ...commonFlags, ...sourceFlags, ...sinkFlags },
    withListenAlias(line),
    program.host.platform,
  )
  const usage = `fairlead ${source} ${sink}`
  if (!read.ok) throw new CommandError(`${read.problem} (see ${usage} --help)`)
  if (read.wantsHelp) {
    const table: FlagTable = { ...sourceFlags, ...sinkFlags, ...commonFlags }
    program.out(
      `${aboutBySource[source]}\n\nUsage:\n  ${usage} [flags]\n\n${renderFlagHelp(table, program.host.platform)}`,
    )
    return 0
  }
  if (read.positionals.length > 0)
    throw new CommandError(`${usage} takes no argument "${read.positionals[0]}" (see ${usage} --help)`)
  const values = read.values as SinkValues
  const log = textLogger(values.v, program.host)
  try {
    const context: SinkContext = { line, values, log, program, model: modelSource(source, values) }
    await (sink === 'to-api' || sink === 'to-file' ? keepModel(context, signal) : followLocally(context, signal))
    return 0
  } finally {
    log.flush()
  }
}

/** Of all its sinks but the modes, which have those of the daemon as well. */
export function kpngFlags(source: KpngSource): FlagTable {
  const ofSinks = sinkNames.map(flagsOfSink)
  const behindApi = source === 'api' || source === 'local' ? behindApiFlags : {}
  return { ...flagsOfSource(source), ...Object.assign({}, ...ofSinks), ...behindApi, ...commonFlags }
}

function flagsOfSource(source: KpngSource) {
  if (source === 'kube') return kubeFlags
  return source === 'file' ? fileFlags : apiFlags
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

/** Where no other API is followed, `--api` can only mean the one that is served. */
function withListenAlias({ source, sink, flags }: SinkCommand): readonly string[] {
  if (sink !== 'to-api' || source === 'api' || source === 'local') return flags
  return flags.map((flag) => (flag === '--api' ? '--listen' : flag.replace(/^--api=/, '--listen=')))
}

function modelSource(source: KpngSource, values: SinkValues): ModelSource {
  if (source === 'kube' || source === 'file') return { kind: source, values }
  return { kind: 'api', values }
}
