/** What it costs to be watched: metrics, traces in memory and time to safety, compared with none of them. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { BenchGroup, BenchOptions, BenchSection } from '../bench-group.ts'
import { compiledScript, compileScripts } from '../compiled-scripts.ts'
import { renderSpread, spreadOf } from '../statistics.ts'
import type { ObservedResult } from './observed-result.ts'

const services = 10_000
const changes = 1000
const script = compiledScript(new URL('./observed-process.ts', import.meta.url))

export const observabilityGroup: BenchGroup = {
  name: 'observability',
  async run(options) {
    options.progress('compiling what is measured')
    await compileScripts()
    return [await watched(options)]
  },
}

interface Case {
  readonly title: string
  readonly switch: 'on' | 'off'
  readonly runs: ObservedResult[]
}

async function watched({ runs, progress }: BenchOptions): Promise<BenchSection> {
  const off: Case = { title: 'nothing', switch: 'off', runs: [] }
  const on: Case = { title: 'metrics, traces in memory, time to safety', switch: 'on', runs: [] }
  // Turn by turn, and each first as often as the other.
  for (let run = 1; run <= runs; run++) {
    progress(`run ${run} of ${runs}`)
    for (const one of run % 2 === 0 ? [on, off] : [off, on]) one.runs.push(await measure(one.switch))
  }
  return {
    title: `${services.toLocaleString('en')} Services of 4 endpoints, watched and not`,
    about: [
      'From parsed objects to the kernel, in one process and a network namespace of its own: intake, catalog, routes of one family,',
      'the nftables backend and its transactions over netlink. The first sync includes all objects; then',
      `${changes.toLocaleString('en')} endpoints change one after the other, after 100 to warm up. What each change costs is an average of its`,
      `process. Median (min – max) of ${runs} processes of each kind, turn by turn.`,
    ].join(' '),
    tables: [
      {
        columns: ['watched by', 'first sync, ms', 'CPU, ms', 'one change, ms', 'CPU, ms', 'RSS, MB'],
        rows: [off, on].map(({ title, runs: results }) => [
          title,
          spread(results, ({ firstMs }) => firstMs, 0),
          spread(results, ({ firstCpuMs }) => firstCpuMs, 0),
          spread(results, ({ changeMs }) => changeMs, 3),
          spread(results, ({ changeCpuMs }) => changeCpuMs, 3),
          spread(results, ({ residentMb }) => residentMb, 0),
        ]),
      },
    ],
    findings: [
      [
        `Watched : not watched: ${ratio(on, off, ({ firstMs }) => firstMs)} in the first sync`,
        `${ratio(on, off, ({ firstCpuMs }) => firstCpuMs)} in its CPU time`,
        `${ratio(on, off, ({ changeMs }) => changeMs)} in one change`,
        `${ratio(on, off, ({ changeCpuMs }) => changeCpuMs)} in its CPU time.`,
      ].join(', '),
      `Within 5 % of CPU time, which other work on the machine touches least: the first sync ${isWithin(on, off, ({ firstCpuMs }) => firstCpuMs)}, one change ${isWithin(on, off, ({ changeCpuMs }) => changeCpuMs)}.`,
    ],
  }
}

async function measure(observing: Case['switch']): Promise<ObservedResult> {
  const args = ['-n', process.execPath, script, String(services), String(changes), observing]
  const { stdout } = await promisify(execFile)('unshare', args)
  return JSON.parse(stdout) as ObservedResult
}

function spread(results: readonly ObservedResult[], read: (result: ObservedResult) => number, digits: number): string {
  return renderSpread(spreadOf(results.map(read)), digits)
}

function ratio(on: Case, off: Case, read: (result: ObservedResult) => number): string {
  return (medianOf(on, read) / medianOf(off, read)).toFixed(3)
}

function isWithin(on: Case, off: Case, read: (result: ObservedResult) => number): string {
  return medianOf(on, read) <= 1.05 * medianOf(off, read) ? 'is' : 'is not'
}

function medianOf({ runs }: Case, read: (result: ObservedResult) => number): number {
  return spreadOf(runs.map(read)).median
}
