/** The first sync, one endpoint, and memory: the tables of the sockets next to the table of the nftables mode. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { EbpfPlace } from '../../packet/testing/fairlead-ebpf.ts'
import type { BenchOptions, BenchSection } from '../bench-group.ts'
import { compiledScript } from '../compiled-scripts.ts'
import { renderSpread, spreadOf } from '../statistics.ts'
import type { Spread } from '../statistics.ts'
import { object } from './built-programs.ts'
import type { ModeName } from './opened-mode.ts'
import type { SyncResult } from './sync-result.ts'

const usualServices = 10_000
const manyServices = 50_000
const changes = 1_000
/** With the usual number of Services. */
const promised = { mapsMb: 30, firstSocketsMs: 500, changeP99Ms: 1 }
const script = compiledScript(new URL('./sync-process.ts', import.meta.url))

interface Case {
  readonly title: string
  readonly mode: ModeName
  readonly runs: SyncResult[]
}

export async function syncs(options: BenchOptions): Promise<readonly BenchSection[]> {
  const { services, runs } = options
  if (services !== undefined) return [await compared(services, options)]
  const usual = await compared(usualServices, options)
  return [usual, await compared(manyServices, { ...options, runs: Math.min(runs, 2) })]
}

async function compared(services: number, { runs, progress }: BenchOptions): Promise<BenchSection> {
  const nftables: Case = { title: 'nftables mode', mode: 'nftables', runs: [] }
  const sockets: Case = { title: 'ebpf mode, sockets alone', mode: 'sockets', runs: [] }
  const both: Case = { title: 'ebpf mode, sockets and packets', mode: 'ebpf', runs: [] }
  const cases = [nftables, sockets, both]
  for (let run = 1; run <= runs; run++)
    // Turn by turn, and in another order each time.
    for (const one of [...cases.slice(run % 3), ...cases.slice(0, run % 3)]) {
      progress(`${services} Services, ${one.title}, run ${run} of ${runs}`)
      one.runs.push(await measure(one.mode, services))
    }
  return {
    title: `Syncs with ${services.toLocaleString('en')} Services of 4 endpoints`,
    about: [
      "From the node's view to the kernel, IPv4, each process in a network namespace and with a cgroup of its own. The ebpf mode",
      'writes the tables of the sockets first, and then the table that the nftables mode has, too; "sockets alone" is the first',
      'half, after which clients on the node get the new endpoints. The first sync of the sockets includes making maps, and',
      `loading and attaching programs. Then ${changes.toLocaleString('en')} endpoints change one after the other, after 200 to warm up; CPU is an average over`,
      `them. Maps are what the kernel says that they take. Median (min – max) of ${runs} processes of each kind, turn by turn; times of a`,
      'change are those of all processes.',
    ].join(' '),
    tables: [
      {
        columns: ['first sync', 'ms', 'CPU, ms', 'RSS at the end, MB', 'maps, MB'],
        rows: cases.map(({ title, mode, runs: results }) => [
          title,
          spread(results, ({ firstMs }) => firstMs, 0),
          spread(results, ({ firstCpuMs }) => firstCpuMs, 0),
          spread(results, ({ residentMb }) => residentMb, 0),
          mode === 'nftables' ? '' : spread(results, ({ mapsMb }) => mapsMb, 1),
        ]),
      },
      {
        columns: ['one endpoint', 'changes', 'p50, ms', 'p99, ms', 'max, ms', 'CPU, ms'],
        rows: cases.map((one) => {
          const { median, p99, max, count } = changesOf(one)
          return [
            one.title,
            count.toLocaleString('en'),
            median.toFixed(3),
            p99.toFixed(2),
            max.toFixed(1),
            spread(one.runs, ({ changeCpuMs }) => changeCpuMs, 3),
          ]
        }),
      },
    ],
    findings: [
      `nftables mode : sockets alone: ${ratio(nftables, sockets, 1)}.`,
      `ebpf mode, both : nftables mode: ${ratio(both, nftables, 2)}.`,
      ...(services === usualServices ? limits(sockets) : []),
    ],
  }
}

/** Each process finds nothing that another has left. */
async function measure(mode: ModeName, services: number): Promise<SyncResult> {
  await using place = new EbpfPlace()
  const places = [place.cgroup.path, place.pins, object]
  const args = ['-n', process.execPath, script, String(services), String(changes), mode, ...places]
  const { stdout } = await promisify(execFile)('unshare', args)
  return JSON.parse(stdout) as SyncResult
}

function ratio(one: Case, other: Case, digits: number): string {
  const times = (read: (result: SyncResult) => number) => (medianOf(one, read) / medianOf(other, read)).toFixed(digits)
  return [
    `${times(({ firstMs }) => firstMs)} in the first sync`,
    `${times(({ firstCpuMs }) => firstCpuMs)} in its CPU time`,
    `${(changesOf(one).median / changesOf(other).median).toFixed(digits)} in one endpoint`,
    `${times(({ changeCpuMs }) => changeCpuMs)} in its CPU time`,
  ].join(', ')
}

function limits(sockets: Case): readonly string[] {
  const mapsMb = medianOf(sockets, (result) => result.mapsMb)
  const firstMs = medianOf(sockets, (result) => result.firstMs)
  const { p99 } = changesOf(sockets)
  return [
    `Maps of at most ${promised.mapsMb} MB: ${verdict(mapsMb <= promised.mapsMb)} (${mapsMb.toFixed(1)} MB).`,
    `First sync of the sockets within ${promised.firstSocketsMs} ms: ${verdict(firstMs <= promised.firstSocketsMs)} (median ${firstMs.toFixed(0)} ms).`,
    `One endpoint in the tables of the sockets within ${promised.changeP99Ms} ms at p99: ${verdict(p99 <= promised.changeP99Ms)} (${p99.toFixed(2)} ms).`,
  ]
}

function verdict(isMet: boolean): string {
  return isMet ? 'met' : '**missed**'
}

function changesOf({ runs }: Case): Spread {
  return spreadOf(runs.flatMap(({ changesMs }) => changesMs))
}

function medianOf({ runs }: Case, read: (result: SyncResult) => number): number {
  return spreadOf(runs.map(read)).median
}

function spread(results: readonly SyncResult[], read: (result: SyncResult) => number, digits: number): string {
  return renderSpread(spreadOf(results.map(read)), digits)
}
