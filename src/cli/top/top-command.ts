/** `fairlead top`: what Services carry, as a table that lives, or once for a pipe. */
import { inGroup } from '../../config/flags/flag.ts'
import { renderFlagHelp } from '../../config/flags/flag-help.ts'
import { parseFlags } from '../../config/flags/flag-set.ts'
import * as type from '../../config/flags/flag-types.ts'
import { sortKeys } from '../../observe/traffic/traffic-rows.ts'
import type { SortKey, TrafficTable } from '../../observe/traffic/traffic-rows.ts'
import { askForJson } from '../ask/ask-daemon.ts'
import { askFlags } from '../ask/ask-flags.ts'
import { CommandError } from '../program.ts'
import type { Program } from '../program.ts'
import { listenForKeys } from './keys.ts'
import { renderSummary, renderTop } from './top-table.ts'

export const topFlags = inGroup('Top', {
  sort: {
    type: type.oneOf(sortKeys),
    default: 'connections' as const,
    help: `What comes first: ${sortKeys.join(', ')}.`,
  },
  namespace: { type: type.text, short: 'n', default: '', help: 'Only Services of this namespace.' },
  filter: {
    type: type.text,
    default: '',
    help: 'Only Services with this in their name, their addresses, or those of their endpoints.',
  },
  endpoints: { type: type.bool, default: false, help: 'Show each endpoint below its Service.' },
  interval: { type: type.duration, default: 2000, help: 'How long to wait between two looks.' },
  once: { type: type.bool, default: false, help: 'Look once, and end. Without a terminal that is so anyway.' },
  ...askFlags,
})

const about = `Shows what each Service carries on this node: new and open connections, bytes, failures, and how far from even
they are spread over the endpoints. A mode shows "-" for what it cannot know.

On a terminal, c, o, b, r, f, s, l and n sort by connections, open, bytes, rate, failures, skew, last use and name; e shows
endpoints; q ends.
`

interface Asked {
  sort: SortKey
  withEndpoints: boolean
  readonly namespace: string
  readonly filter: string
  readonly server: string
}

export async function topCommand(argv: readonly string[], program: Program, signal: AbortSignal): Promise<number> {
  const { host } = program
  const read = parseFlags(topFlags, argv, host.platform)
  if (!read.ok) throw new CommandError(read.problem)
  if (read.wantsHelp) {
    const help = renderFlagHelp(topFlags, host.platform, program.stdout.columns)
    program.out(`${about}\nUsage:\n  fairlead top [flags]\n\n${help}`)
    return 0
  }
  if (read.positionals.length > 0)
    throw new CommandError(`top takes no argument "${read.positionals[0]}": choose Services with --filter`)
  const { values } = read
  if (values.interval < 1000) throw new CommandError('--interval must be at least 1s')
  const asked: Asked = {
    sort: values.sort,
    withEndpoints: values.endpoints,
    namespace: values.namespace,
    filter: values.filter,
    server: values.server,
  }
  const isLive = program.stdout.columns !== undefined && !values.once && values.output === 'text'
  if (isLive) return live(asked, values.interval, program, signal)
  const table = await withRates(asked, values.interval, program, signal)
  if (values.output === 'json') program.out(`${JSON.stringify(table, undefined, 2)}\n`)
  else {
    const view = { sort: asked.sort, nowMs: host.clock.now(), terminal: program.stdout }
    program.out(`${renderTop(table, view)}${renderSummary(table, view.nowMs)}\n`)
  }
  return 0
}

/** A rate needs two readings. Often somebody else has asked before. */
async function withRates(
  asked: Asked,
  intervalMs: number,
  program: Program,
  signal: AbortSignal,
): Promise<TrafficTable> {
  const first = await ask(asked, 5000, program, signal)
  if (first.readings.every(({ secondsBefore }) => secondsBefore !== undefined)) return first
  await program.host.clock.sleep(intervalMs, signal)
  return ask(asked, 5000, program, signal)
}

async function live(asked: Asked, intervalMs: number, program: Program, signal: AbortSignal): Promise<number> {
  const { host } = program
  const done = new AbortController()
  /** Aborted when a key was pressed, so that nobody waits to see what it does. */
  let wait = new AbortController()
  using _keys = listenForKeys((key) => {
    const sort = sortByKey.get(key)
    if (key === 'q' || key === ctrlC) done.abort()
    else if (key === 'e') asked.withEndpoints = !asked.withEndpoints
    else if (sort === undefined) return
    else asked.sort = sort
    wait.abort()
  })
  const ending = AbortSignal.any([signal, done.signal])
  // A proxy with many Services takes seconds to read what they carry.
  program.out(`${enterScreen}${draw([head, 'waiting for the proxy to read its counters'])}`)
  try {
    for (let isFirst = true; !ending.aborted; isFirst = false) {
      program.out(await screen(asked, isFirst, program, ending))
      wait = new AbortController()
      await host.clock.sleep(intervalMs, AbortSignal.any([ending, wait.signal])).catch(() => {})
    }
  } catch (error) {
    if (!ending.aborted) throw error
  } finally {
    program.out(leaveScreen)
  }
  return 0
}

async function screen(asked: Asked, isFirst: boolean, program: Program, signal: AbortSignal): Promise<string> {
  const { host, stdout } = program
  const room = Math.max(5, (rowsOf(host.process.streams.stdout) ?? 24) - 4)
  // A line that breaks would move all that follow.
  const fitted = (line: string) => line.slice(0, stdout.columns)
  try {
    const table = await ask(asked, room, program, signal)
    const view = { sort: asked.sort, nowMs: host.clock.now(), terminal: stdout }
    const lines = renderTop(table, view)
      .split('\n')
      .slice(0, room + 1)
    return draw([fitted(head), fitted(renderSummary(table, view.nowMs)), '', ...lines])
  } catch (error) {
    // The proxy may restart while we look.
    if (isFirst || signal.aborted || !(error instanceof CommandError)) throw error
    return draw([fitted(head), fitted(error.message)])
  }
}

const head = 'fairlead top: c o b r f s l n sort, e endpoints, q ends'

function draw(lines: readonly string[]): string {
  return `${home}${lines.map((line) => `${line}${clearLine}`).join('\r\n')}${clearBelow}`
}

async function ask(asked: Asked, limit: number, program: Program, signal: AbortSignal): Promise<TrafficTable> {
  const { sort, withEndpoints, namespace, filter, server } = asked
  const query = {
    sort,
    limit: String(limit),
    endpoints: String(withEndpoints),
    ...(namespace !== '' && { namespace }),
    ...(filter !== '' && { filter }),
  }
  return (await askForJson('/debug/traffic', query, { server, host: program.host }, signal)) as TrafficTable
}

/** Unknown where it is no terminal, or one that does not know its size. */
function rowsOf(stream: object): number | undefined {
  return 'rows' in stream && typeof stream.rows === 'number' && stream.rows > 0 ? stream.rows : undefined
}

const sortByKey: ReadonlyMap<string, SortKey> = new Map([
  ['c', 'connections'],
  ['o', 'open'],
  ['b', 'bytes'],
  ['r', 'rate'],
  ['f', 'failures'],
  ['s', 'skew'],
  ['l', 'last-use'],
  ['n', 'name'],
])

const ctrlC = '\u0003'
/** Another screen of the terminal, without a cursor: what was there comes back in the end. */
const enterScreen = '\u001B[?1049h\u001B[?25l'
const leaveScreen = '\u001B[?25h\u001B[?1049l'
const home = '\u001B[H'
const clearLine = '\u001B[K'
const clearBelow = '\u001B[J'
