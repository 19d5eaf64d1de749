/** `fairlead trace`: the last syncs of a running proxy, and one of them as a waterfall. */
import { inGroup } from '../../config/flags/flag.ts'
import type { FlagValues } from '../../config/flags/flag.ts'
import { renderFlagHelp } from '../../config/flags/flag-help.ts'
import { parseFlags } from '../../config/flags/flag-set.ts'
import * as type from '../../config/flags/flag-types.ts'
import type { ShownSync } from '../../observe/tracing/shown-sync.ts'
import type { SyncsAnswer } from '../../observe/tracing/syncs-page.ts'
import { askForJson } from '../ask/ask-daemon.ts'
import { askFlags } from '../ask/ask-flags.ts'
import { CommandError } from '../program.ts'
import type { Program } from '../program.ts'
import { renderCauses, renderSyncLine, renderSyncTable, renderSyncTitle } from './sync-table.ts'
import { renderWaterfall } from './waterfall.ts'
import { parseVisible } from '../visible.ts'

export const traceFlags = inGroup('Trace', {
  ...askFlags,
  number: { type: type.int32, short: 'n', default: 20, help: 'How many syncs to list; the proxy remembers 200.' },
  slowest: { type: type.bool, default: false, help: 'The slowest ones first, instead of the newest.' },
  family: { type: type.text, default: '', help: 'Only ipv4 or only ipv6. Empty: both.' },
  attributes: { type: type.bool, short: 'a', default: false, help: 'Show what is known about each part of a sync.' },
  follow: { type: type.bool, short: 'f', default: false, help: 'Print a line for each new sync until interrupted.' },
  from: {
    type: type.text,
    default: '',
    help: 'Read a file with the answer of /debug/syncs instead of asking a proxy.',
  },
})

const about = `Shows what the last syncs of a running proxy did, how long each part took, and what caused them.

Usage:
  fairlead trace [flags]          The last syncs as a table, and the first of them as a picture
  fairlead trace NUMBER [flags]   Only the picture of that one
  fairlead trace start [flags]    How the proxy started
`

const followEveryMs = 1000

type Values = FlagValues<typeof traceFlags>

export async function traceCommand(argv: readonly string[], program: Program, signal: AbortSignal): Promise<number> {
  const { platform } = program.host
  const read = parseFlags(traceFlags, argv, platform)
  if (!read.ok) throw new CommandError(`${read.problem} (see fairlead trace --help)`)
  if (read.wantsHelp) {
    program.out(`${about}\n${renderFlagHelp(traceFlags, platform, program.stdout.columns)}`)
    return 0
  }
  const { values, positionals } = read
  const chosen = checked(values, positionals)
  if (values.follow) return follow(values, program, signal)
  const answer = await syncs(values, Math.max(values.number, typeof chosen === 'number' ? chosen : 0), program, signal)
  if (values.output === 'json') {
    program.out(`${JSON.stringify(jsonFor(answer, chosen), undefined, 2)}\n`)
    return 0
  }
  program.out(textFor(answer, chosen, values, program))
  return 0
}

/** `start`, the number of a sync in the list, or all of them. */
type Chosen = 'start' | number | undefined

function checked({ number, family, follow: follows, from }: Values, positionals: readonly string[]): Chosen {
  if (number < 1) throw new CommandError(`--number=${number} is no number of syncs: give 1 or more`)
  if (family !== '' && family !== 'ipv4' && family !== 'ipv6')
    throw new CommandError(`--family="${family}" is unknown: use ipv4 or ipv6, or leave it out`)
  if (follows && from !== '') throw new CommandError('--follow and --from contradict each other: a file has no news')
  const [which, ...more] = positionals
  if (more.length > 0) throw new CommandError(`trace takes one sync, not "${more[0]}" too (see fairlead trace --help)`)
  if (which === undefined || which === 'start') return which
  if (/^[1-9]\d{0,3}$/.test(which)) return Number(which)
  throw new CommandError(`"${which}" is no sync: give its number in the list, or "start"`)
}

async function syncs(values: Values, limit: number, program: Program, signal: AbortSignal): Promise<SyncsAnswer> {
  const { server, slowest, family, from } = values
  if (from !== '') return readAnswer(from, { limit, family }, program)
  const query = {
    limit: String(limit),
    ...(slowest && { slowest: 'true' }),
    ...(family !== '' && { family }),
  }
  return (await askForJson('/debug/syncs', query, { server, host: program.host }, signal)) as SyncsAnswer
}

async function readAnswer(
  path: string,
  { limit, family }: { readonly limit: number; readonly family: string },
  { host }: Program,
): Promise<SyncsAnswer> {
  const text = await host.readTextFile(path).catch((error: unknown) => {
    throw new CommandError(`--from=${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  })
  const answer = parsed(text)
  if (!Array.isArray(answer?.syncs))
    throw new CommandError(`--from=${path} is not an answer of /debug/syncs: save one with "fairlead trace -o json"`)
  const wanted = answer.syncs.filter((sync) => family === '' || sync.family === family)
  return { ...answer, syncs: wanted.slice(0, limit) }
}

function parsed(text: string): SyncsAnswer | undefined {
  try {
    return parseVisible(text) as SyncsAnswer
  } catch {
    return undefined
  }
}

function jsonFor(answer: SyncsAnswer, chosen: Chosen): unknown {
  if (chosen === 'start') return answer.start
  return chosen === undefined ? answer : numbered(answer, chosen)
}

function textFor(answer: SyncsAnswer, chosen: Chosen, values: Values, program: Program): string {
  const { stdout: terminal } = program
  const options = { terminal, showsAttributes: values.attributes, bar: isUnicode(program) ? '█' : '#' }
  if (chosen === 'start') {
    if (answer.start === null) throw new CommandError('the proxy has not finished its start yet: ask again')
    return renderWaterfall(answer.start, options)
  }
  const picture = (sync: ShownSync) =>
    `${renderSyncTitle(sync)}${renderCauses(sync)}\n${renderWaterfall(sync.trace, options)}`
  if (chosen !== undefined) return picture(numbered(answer, chosen))
  const [first] = answer.syncs
  if (first === undefined) return 'No sync yet. A proxy syncs when it has a complete list of Services and endpoints.\n'
  return `${renderSyncTable(answer.syncs, terminal)}\n${picture(first)}`
}

function numbered({ syncs: all }: SyncsAnswer, number: number): ShownSync {
  const sync = all[number - 1]
  if (sync === undefined) throw new CommandError(`there is no sync ${number}: the proxy remembers ${all.length}`)
  return sync
}

/** Nothing may be lost between two questions, so more are asked for than usually come. */
async function follow(values: Values, program: Program, signal: AbortSignal): Promise<number> {
  let known: ReadonlySet<string> | undefined
  while (!signal.aborted) {
    const { syncs: found } = await syncs({ ...values, slowest: false }, 200, program, signal)
    for (const sync of found.toReversed()) {
      if (known !== undefined && !known.has(sync.trace.context.spanId))
        program.out(values.output === 'json' ? `${JSON.stringify(sync)}\n` : renderSyncLine(sync))
    }
    known = new Set(found.map(({ trace }) => trace.context.spanId))
    await program.host.clock.sleep(followEveryMs, signal).catch(() => {})
  }
  return 0
}

function isUnicode({ host: { env, platform }, stdout }: Program): boolean {
  if (stdout.columns === undefined) return false
  return platform === 'win32' || /utf-?8/i.test(env['LC_ALL'] ?? env['LC_CTYPE'] ?? env['LANG'] ?? '')
}
