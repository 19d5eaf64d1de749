/** IP sets through the `ipset` command. `ipset restore` makes all changes of a call in one process. */
import type { Exec, ExecResult } from '../exec/exec.ts'
import { ExecError } from '../exec/exec.ts'
import { assertSetName, IpsetError } from './ipset.ts'
import type { EntryChange, IpSet, Ipset } from './ipset.ts'
import { entryForTool, parseEntry, parseSaved } from './ipset-text.ts'
import { failedLine, toolError } from './tool-error.ts'

/** Seventeen full sets of each family take about 100 MB. */
const maxListBytes = 512 << 20
/** Sets may disappear between reading their names and reading the sets; then it starts again. */
const maxListAttempts = 5

export function commandIpset(exec: Exec): Ipset {
  const run = (args: readonly string[], signal: AbortSignal, stdin = '') => runIpset(exec, args, stdin, signal)
  const must = async (doing: string, args: readonly string[], signal: AbortSignal) => {
    args.forEach(assertSetName)
    const result = await run(args, signal)
    if (result.exitCode !== 0) throw toolError(doing, result.stderr)
  }

  return {
    async version(signal) {
      const { stdout } = await run(['--version'], signal)
      const [, version] = /v(\d+\.\d+)/.exec(stdout) ?? []
      if (version === undefined)
        throw new IpsetError('refused', `cannot read the version of ipset from "${stdout.trim()}"`)
      return version
    },

    async list(names, signal) {
      for (let attempt = 1; ; attempt++) {
        const present = await presentNames(run, names, signal)
        if (present.length === 0) return []
        const result = await run(['restore'], signal, present.map((name) => `save ${name}\n`).join(''))
        if (result.exitCode === 0) return parseSaved(result.stdout)
        const error = toolError('list the sets', result.stderr)
        if (error.reason !== 'not-found' || attempt === maxListAttempts) throw error
      }
    },

    async ensure(sets, signal) {
      for (const { name } of sets) assertSetName(name)
      const result = await run(['restore', '-exist'], signal, sets.map((set) => `${createLine(set)}\n`).join(''))
      if (result.exitCode === 0) return
      const culprit = sets[(failedLine(result.stderr) ?? 0) - 1]
      throw toolError(`create the set ${culprit?.name} (${culprit?.type})`, result.stderr, culprit?.type)
    },

    apply: (changes, signal) => applyChanges(run, changes, signal),
    swap: (first, second, signal) => must(`swap the sets ${first} and ${second}`, ['swap', first, second], signal),
    flush: (name, signal) => must(`empty the set ${name}`, ['flush', name], signal),

    async destroy(name, signal) {
      try {
        await must(`destroy the set ${name}`, ['destroy', name], signal)
      } catch (error) {
        if (!(error instanceof IpsetError) || error.reason !== 'not-found') throw error
      }
    },
  }
}

type Run = (args: readonly string[], signal: AbortSignal, stdin?: string) => Promise<ExecResult>

async function runIpset(exec: Exec, args: readonly string[], stdin: string, signal: AbortSignal): Promise<ExecResult> {
  try {
    return await exec('ipset', args, { signal, stdin, maxStdoutBytes: maxListBytes })
  } catch (error) {
    if (!(error instanceof ExecError)) throw error
    if (error.reason !== 'not-found') throw new IpsetError('refused', error.message, { cause: error })
    const message = 'cannot find the program "ipset": install the package ipset, or add its folder to PATH'
    throw new IpsetError('tool-missing', message, { cause: error })
  }
}

async function presentNames(run: Run, names: readonly string[], signal: AbortSignal): Promise<readonly string[]> {
  if (names.length === 0) return []
  const result = await run(['list', '-name'], signal)
  if (result.exitCode !== 0) throw toolError('list the names of the sets', result.stderr)
  const wanted = new Set(names)
  return result.stdout.split('\n').filter((name) => wanted.has(name))
}

function createLine(set: IpSet): string {
  if (set.type === 'bitmap:port') return `create ${set.name} bitmap:port range 0-65535`
  const family = set.family === 'ipv4' ? 'inet' : 'inet6'
  return `create ${set.name} ${set.type} family ${family} hashsize 1024 maxelem ${set.maxElements ?? 65_536}`
}

/**
 * The tool stops at the first line that fails, and says which. It is then run again with the lines after it. If a set is
 * missing or full, the other lines that must fail for the same reason are left out: each would cost a process.
 */
async function applyChanges(
  run: Run,
  changes: readonly EntryChange[],
  signal: AbortSignal,
): Promise<ReadonlyMap<number, IpsetError>> {
  signal.throwIfAborted()
  const errorsByIndex = new Map<number, IpsetError>()
  for (const name of new Set(changes.map(({ set }) => set))) assertSetName(name)
  let lines: readonly Line[] = changes.flatMap((change, index) => {
    const entry = parseEntry(change.entry)
    if (entry === undefined)
      errorsByIndex.set(index, new IpsetError('refused', `${cannot(change)}: it is not a valid entry`))
    return entry === undefined ? [] : [{ index, change, text: lineFor(change, entryForTool(entry)) }]
  })
  while (lines.length > 0) {
    const result = await run(['restore', '-exist'], signal, lines.map(({ text }) => text).join(''))
    if (result.exitCode === 0) break
    const at = Math.ceil((failedLine(result.stderr) ?? 0) / linesPerChange)
    const failed = lines[at - 1]
    if (failed === undefined) throw toolError('change the sets', result.stderr)
    const rest = lines.slice(at)
    const { error, alsoFailing } = judge(failed, rest, result.stderr)
    errorsByIndex.set(failed.index, error)
    for (const { index, change } of alsoFailing)
      errorsByIndex.set(index, new IpsetError(error.reason, `${cannot(change)}: as ${failed.change.entry} before it`))
    lines = rest.filter((line) => !alsoFailing.has(line))
  }
  return errorsByIndex
}

/**
 * Without COMMIT the tool collects changes, and at a line that it cannot read it drops those before it. With COMMIT,
 * everything before the failed line is done; 60,000 entries take 1.5 s instead of 1.0 s.
 */
function lineFor({ kind, set }: EntryChange, entry: string): string {
  return `${kind === 'add' ? 'add' : 'del'} ${set} ${entry}\nCOMMIT\n`
}

const linesPerChange = 2

interface Line {
  readonly index: number
  readonly change: EntryChange
  readonly text: string
}

function judge(
  failed: Line,
  rest: readonly Line[],
  stderr: string,
): { readonly error: IpsetError; readonly alsoFailing: ReadonlySet<Line> } {
  const { kind, entry, set } = failed.change
  const error = toolError(`${kind} ${entry} in the set ${set}`, stderr)
  const ofSet = rest.filter(({ change }) => change.set === set)
  if (error.reason === 'not-found') return { error, alsoFailing: new Set(ofSet) }
  if (error.reason !== 'full') return { error, alsoFailing: new Set() }
  const room = ofSet.findIndex(({ change }) => change.kind === 'delete')
  return { error, alsoFailing: new Set(room < 0 ? ofSet : ofSet.slice(0, room)) }
}

function cannot({ kind, entry, set }: EntryChange): string {
  return `cannot ${kind} ${entry} in the set ${set}`
}
