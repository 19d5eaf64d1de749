/** What the console costs: while nobody looks, and while somebody does. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { BenchGroup, BenchOptions, BenchSection } from '../bench-group.ts'
import { compiledScript, compileScripts } from '../compiled-scripts.ts'
import { renderSpread, spreadOf } from '../statistics.ts'
import type { ConsoleResult, ViewerResult } from './console-result.ts'

const usualServices = 10_000
const manyServices = 50_000
const seconds = 20
const script = compiledScript(new URL('./console-process.ts', import.meta.url))

export const consoleGroup: BenchGroup = {
  name: 'console',
  async run(options) {
    options.progress('compiling what is measured')
    await compileScripts()
    const { services, runs } = options
    if (services !== undefined) return [await compared(services, options)]
    const usual = await compared(usualServices, options)
    return [usual, await compared(manyServices, { ...options, runs: Math.min(runs, 3) })]
  },
}

interface Case {
  readonly title: string
  readonly watching: 'off' | 'idle' | 'viewer'
  readonly runs: ConsoleResult[]
}

async function compared(services: number, { runs, progress }: BenchOptions): Promise<BenchSection> {
  const off: Case = { title: 'without the console', watching: 'off', runs: [] }
  const idle: Case = { title: 'with it, nobody looks', watching: 'idle', runs: [] }
  const viewer: Case = { title: 'with one viewer', watching: 'viewer', runs: [] }
  const cases = [off, idle, viewer]
  for (let run = 1; run <= runs; run++)
    // Turn by turn, and in another order each time.
    for (const one of [...cases.slice(run % 3), ...cases.slice(0, run % 3)]) {
      progress(`${services} Services, run ${run} of ${runs}, ${one.title}`)
      one.runs.push(await measure(services, one.watching))
    }
  const seen = viewer.runs.flatMap((it) => it.viewer ?? [])
  return {
    title: `${services.toLocaleString('en')} Services, 100 changes a second`,
    about: [
      'From parsed objects to the kernel, in one process and a network namespace of its own: intake, catalog, routes of one family,',
      `the nftables backend, one sync a second. For ${seconds} s another endpoint changes a hundred times a second, each of another Service;`,
      'one Service in ten has other counters at each reading. The viewer is another process, which follows the overview, all Services,',
      'one Service and the syncs. Memory is that at rest, after a garbage collection.',
      `Median (min – max) of ${runs} processes of each kind, turn by turn.`,
    ].join(' '),
    tables: [
      {
        columns: ['console', 'heap at rest, MB', 'RSS, MB', 'timers', 'CPU under load, % of a core'],
        rows: cases.map(({ title, runs: results }) => [
          title,
          spread(results, ({ heapMb }) => heapMb, 1),
          spread(results, ({ residentMb }) => residentMb, 0),
          spread(results, ({ timers }) => timers, 0),
          spread(results, cpuShare, 1),
        ]),
      },
      {
        columns: ['the viewer', ''],
        rows: [
          ['the list has come after, ms', spread(seen, ({ listMs }) => listMs, 0)],
          ['CPU of the daemon for it, ms', spread(seen, ({ listCpuMs }) => listCpuMs, 0)],
          ['messages a second', spread(seen, ({ messagesPerSecond }) => messagesPerSecond, 1)],
          ['kilobytes a second', spread(seen, ({ kilobytesPerSecond }) => kilobytesPerSecond, 0)],
          ['from a change to its row, ms', spread(seen, ({ delayMs }) => delayMs.median, 0)],
          ['the slowest of them, ms', spread(seen, ({ delayMs }) => delayMs.most, 0)],
        ],
      },
    ],
    findings: [
      `Nobody looks: ${difference(idle, off, ({ heapMb }) => heapMb)} MB of heap and ${difference(idle, off, ({ residentMb }) => residentMb)} MB of RSS more, ${difference(idle, off, ({ timers }) => timers, 0)} timers more.`,
      `One viewer takes ${difference(viewer, off, cpuShare)} % of a core.`,
    ],
  }
}

async function measure(services: number, watching: Case['watching']): Promise<ConsoleResult> {
  const args = ['-n', process.execPath, '--expose-gc', script, String(services), String(seconds), watching]
  const { stdout } = await promisify(execFile)('unshare', args)
  return JSON.parse(stdout) as ConsoleResult
}

function cpuShare({ cpuMsPerSecond }: ConsoleResult): number {
  return cpuMsPerSecond / 10
}

function spread<Result extends ConsoleResult | ViewerResult>(
  results: readonly Result[],
  read: (result: Result) => number,
  digits: number,
): string {
  return renderSpread(spreadOf(results.map(read)), digits)
}

function difference(one: Case, other: Case, read: (result: ConsoleResult) => number, digits = 1): string {
  return (spreadOf(one.runs.map(read)).median - spreadOf(other.runs.map(read)).median).toFixed(digits)
}
