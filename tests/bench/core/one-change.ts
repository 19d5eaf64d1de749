/** One endpoint of one Service changes: what that costs must not depend on how many other Services there are. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { BenchOptions, BenchSection } from '../bench-group.ts'
import { spreadOf } from '../statistics.ts'
import { scripts } from './programs.ts'

export interface OneChangeResult {
  readonly changesMs: readonly number[]
  /** Per change, on average, garbage collection included. */
  readonly cpuMs: number
  readonly mostRoutedServices: number
  readonly mostChangedKeys: number
  /** Routing every Service anew. */
  readonly fromScratchMs: readonly number[]
}

const sizes = [100, 1_000, 10_000, 50_000]
const changes = 2_000
const limitMs = 5

export async function oneChange({ runs, progress }: BenchOptions): Promise<BenchSection> {
  const resultsBySize = new Map(sizes.map((size) => [size, [] as OneChangeResult[]]))
  for (let run = 1; run <= runs; run++) {
    progress(`one endpoint change, run ${run} of ${runs}`)
    for (const [size, results] of resultsBySize) results.push(await measure(size))
  }
  const rows = [...resultsBySize].map(([size, results]) => summarise(size, results))
  const [smallest] = rows
  const largest = rows.at(-1)
  const required = rows.find(({ size }) => size === 10_000)
  if (smallest === undefined || largest === undefined || required === undefined) throw new Error('no sizes to compare')
  return {
    title: 'One endpoint change',
    about: [
      `From the bytes of a watch event to the changed view: parse, intake, catalog, and \`take\` of both families.`,
      `${changes.toLocaleString('en')} random changes per process after 200 to warm up, ${runs} processes per size. The peer is the same`,
      `router over all Services, which is what a proxy pays that works out its whole state for each change. The clock`,
      `runs on while other processes have the CPU, which shows in p99 and max; CPU time does not.`,
    ].join(' '),
    tables: [
      {
        columns: [
          'Services',
          'median, ms',
          'p99, ms',
          'max, ms',
          'CPU per change, ms',
          'Services routed',
          'keys in the change',
          'all from scratch, ms',
          'from scratch : change',
        ],
        rows: rows.map(({ size, change, cpu, mostRoutedServices, mostChangedKeys, fromScratch }) => [
          size.toLocaleString('en'),
          change.median.toFixed(3),
          change.p99.toFixed(3),
          change.max.toFixed(2),
          cpu.median.toFixed(3),
          String(mostRoutedServices),
          String(mostChangedKeys),
          fromScratch.median.toFixed(2),
          `${Math.round(fromScratch.median / change.median).toLocaleString('en')} : 1`,
        ]),
      },
    ],
    findings: [
      `Under ${limitMs} ms at 10,000 Services: ${required.change.median < limitMs ? 'met' : '**missed**'} (median ${required.change.median.toFixed(3)} ms, p99 ${required.change.p99.toFixed(3)} ms).`,
      `${largest.size.toLocaleString('en')} Services cost ${(largest.change.median / smallest.change.median).toFixed(2)} times what ${smallest.size} cost; routing from scratch costs ${Math.round(largest.fromScratch.median / smallest.fromScratch.median)} times as much.`,
      `No change routed more than ${Math.max(...rows.map(({ mostRoutedServices }) => mostRoutedServices))} Service.`,
    ],
  }
}

function summarise(size: number, results: readonly OneChangeResult[]) {
  return {
    size,
    change: spreadOf(results.flatMap(({ changesMs }) => changesMs)),
    cpu: spreadOf(results.map(({ cpuMs }) => cpuMs)),
    fromScratch: spreadOf(results.flatMap(({ fromScratchMs }) => fromScratchMs)),
    mostRoutedServices: Math.max(...results.map(({ mostRoutedServices }) => mostRoutedServices)),
    mostChangedKeys: Math.max(...results.map(({ mostChangedKeys }) => mostChangedKeys)),
  }
}

async function measure(services: number): Promise<OneChangeResult> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [scripts.oneChange, String(services), String(changes)],
    {
      maxBuffer: 2 ** 26,
    },
  )
  return JSON.parse(stdout) as OneChangeResult
}
