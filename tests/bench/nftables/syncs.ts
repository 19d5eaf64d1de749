/** The whole daemon: first sync, one endpoint, many Services at once, memory, and the size of the table. */
import type { BenchOptions, BenchSection, BenchTable } from '../bench-group.ts'
import { fairlead } from '../daemon/proxy-program.ts'
import type { ProxyProgram } from '../daemon/proxy-program.ts'
import { renderSpread, spreadOf } from '../statistics.ts'
import { burst, runNftables } from './nftables-run.ts'
import type { NftablesRun } from './nftables-run.ts'
import { recorded, syncFindings } from './sync-findings.ts'

/** kube-proxy's time grows with the square of the Services: with 30,000 it would be at it for minutes. */
const settings = [
  { services: 1_000, changes: 300, peerChanges: 20 },
  { services: 10_000, changes: 300, peerChanges: 5 },
  { services: 30_000, changes: 300, peerChanges: 0 },
  { services: 50_000, changes: 300, peerChanges: 0 },
] as const

export interface SyncCase {
  readonly services: number
  readonly program: ProxyProgram
  readonly table: string
  readonly changes: number
  readonly runs: NftablesRun[]
}

export async function syncs(peer: ProxyProgram | undefined, { runs, progress }: BenchOptions): Promise<BenchSection> {
  const cases = settings.flatMap(({ services, changes, peerChanges }): readonly SyncCase[] => {
    const ours: SyncCase = { services, program: fairlead, table: 'fairlead', changes, runs: [] }
    if (peer === undefined || peerChanges === 0) return [ours]
    return [ours, { services, program: peer, table: 'kube-proxy', changes: peerChanges, runs: [] }]
  })
  // Round after round, so that a busy minute of the machine does not fall on one of them alone.
  for (let run = 1; run <= runs; run++)
    for (const one of cases) {
      progress(`${titleOf(one)}, run ${run} of ${runs}`)
      one.runs.push(await runNftables(one))
    }
  return {
    title: 'First sync, one endpoint, many Services at once, memory',
    about: about(runs),
    tables: [firstSync(cases, peer === undefined), changes(cases, peer === undefined), sizes(cases)],
    findings: syncFindings(cases),
  }
}

function about(runs: number): string {
  return [
    `The daemon as it is installed, in a fresh network namespace, against the API server of group core (streaming list,`,
    `JSON), both IP families, IPv4 objects, flags at their defaults but for the pod range and the pause between syncs (1 ms,`,
    `for both proxies, so that hundreds of changes can be counted). "Sync" is what the proxy itself measures; "last`,
    `byte → done" is from the last byte of the objects until the first sync has ended. A changed endpoint is timed from the`,
    `API server's write of the event to the kernel's notice that the transaction is committed. CPU is that of the`,
    `proxy and of the programs that it ran. kube-proxy stays out from 30,000 Services on, because its kernel time grows with`,
    `the square: with 44,125 Services one full sync took 16 minutes and 44 seconds, as others have reported`,
    `(kubernetes/kubernetes issue 139513, v1.36.1). Median (min – max) of ${runs} runs.`,
  ].join(' ')
}

function firstSync(cases: readonly SyncCase[], isAlone: boolean): BenchTable {
  return {
    columns: ['first sync', 'sync, s', 'last byte → done, s', 'start → done, s', 'CPU, s', 'peak RSS, MB'],
    rows: [
      ...cases.map((one) => [
        titleOf(one),
        seconds(one.runs.map(({ firstSyncMs }) => firstSyncMs)),
        seconds(one.runs.map(({ fromLastByteMs }) => fromLastByteMs)),
        seconds(one.runs.map(({ fromStartMs }) => fromStartMs)),
        seconds(one.runs.map(({ startCpuMs }) => startCpuMs)),
        whole(one.runs.map(({ peakMb }) => peakMb)),
      ]),
      ...(isAlone ? [[recorded.title, recorded.firstSync, '', '', '', recorded.residentMb]] : []),
    ],
  }
}

function changes(cases: readonly SyncCase[], isAlone: boolean): BenchTable {
  const columns = [
    'one endpoint',
    'changes',
    'p50, ms',
    'p99, ms',
    'max, ms',
    'CPU, ms',
    `${burst} Services at once, ms`,
  ]
  return {
    columns,
    rows: [
      ...cases.map((one) => {
        const { median, p99, max, count } = spreadOf(one.runs.flatMap(({ changesMs }) => changesMs))
        return [
          titleOf(one),
          String(count),
          median.toFixed(1),
          p99.toFixed(1),
          max.toFixed(1),
          renderSpread(spreadOf(one.runs.map(({ cpuPerChangeMs }) => cpuPerChangeMs)), 1),
          whole(one.runs.map(({ burstMs }) => burstMs)),
        ]
      }),
      ...(isAlone ? [[recorded.title, '', recorded.oneEndpoint, '', '', '', '']] : []),
    ],
  }
}

function sizes(cases: readonly SyncCase[]): BenchTable {
  return {
    columns: ['table of IPv4', 'chains', 'sets and maps', 'sets and maps inside of rules', 'RSS at the end, MB'],
    rows: cases.map((one) => {
      const { chains = 0, sets = 0, anonymousSets = 0 } = one.runs.at(-1)?.size ?? {}
      return [
        titleOf(one),
        ...[chains, sets, anonymousSets].map((count) => count.toLocaleString('en')),
        whole(one.runs.map(({ residentMb }) => residentMb)),
      ]
    }),
  }
}

function titleOf({ services, program }: SyncCase): string {
  return `${services.toLocaleString('en')} Services, ${program.name}`
}

function seconds(valuesMs: readonly number[]): string {
  return renderSpread(spreadOf(valuesMs.map((ms) => ms / 1000)), 2)
}

function whole(values: readonly number[]): string {
  return renderSpread(spreadOf(values), 0)
}
