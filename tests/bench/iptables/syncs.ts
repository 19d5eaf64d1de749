/** The whole daemon with the real tools: first sync, a changed endpoint, memory, and the cost of doing nothing. */
import type { BenchOptions, BenchSection } from '../bench-group.ts'
import { renderSpread, spreadOf } from '../statistics.ts'
import { runDaemon } from './daemon-run.ts'
import type { ChangeRun, DaemonRun } from './daemon-run.ts'
import { fairlead } from '../daemon/proxy-program.ts'
import type { ProxyProgram } from '../daemon/proxy-program.ts'

/** One input for iptables-nft-restore takes time with the square of its rules: kube-proxy would be at it for minutes. */
const settings = [
  { services: 1_000, tools: 'legacy', suitsPeer: true },
  { services: 10_000, tools: 'legacy', suitsPeer: true },
  { services: 1_000, tools: 'nft', suitsPeer: true },
  { services: 10_000, tools: 'nft', suitsPeer: false },
] as const

type Setting = (typeof settings)[number]

interface Case {
  readonly setting: Setting
  readonly program: ProxyProgram
  readonly runs: DaemonRun[]
}

const changes = 4
const idleMs = 6_000

export async function syncs(peer: ProxyProgram | undefined, { runs, progress }: BenchOptions): Promise<BenchSection> {
  const cases = settings.flatMap((setting) => {
    const programs = peer === undefined || !setting.suitsPeer ? [fairlead] : [fairlead, peer]
    return programs.map((program): Case => ({ setting, program, runs: [] }))
  })
  // Round after round, so that a busy minute of the machine does not fall on one of them alone.
  for (let run = 1; run <= runs; run++)
    for (const { setting, program, runs: results } of cases) {
      progress(`${titleOf(setting)}, ${program.name}, run ${run} of ${runs}`)
      results.push(await runDaemon({ ...setting, program, changes, idleMs }))
    }
  return {
    title: 'First sync, one endpoint, memory',
    about: [
      `The daemon as it is installed, in a fresh network namespace of its own, against the API server of group core (streaming`,
      `list, JSON), both IP families, all flags at their defaults but for the pod range. Syncs are measured by the`,
      `proxies themselves, in the metrics that both have; "start → done" is from the start of the process until the first sync has ended,`,
      `"event → done" from the API server's write until the sync of a changed endpoint has ended. Tools are the`,
      `iptables programs that the proxy ran. Idle is the share of one core while nothing happens for ${idleMs / 1000} s;`,
      `at 10,000 Services these seconds hardly ever hold a look at the kernel, whose share stands further down.`,
      `kube-proxy with 10,000 Services and the nft variant is left out, because one full restore would take minutes.`,
      `Median (min – max) of ${runs} runs with ${changes} changes each.`,
    ].join(' '),
    tables: [
      {
        columns: ['first sync', 'sync, s', 'start → done, s', 'CPU, s', 'tools, CPU s', 'peak RSS, MB'],
        rows: [
          ...cases.map(({ setting, program, runs: results }) => [
            `${titleOf(setting)}, ${program.name}`,
            seconds(results.map(({ firstSyncMs }) => firstSyncMs)),
            seconds(results.map(({ startMs }) => startMs)),
            seconds(results.map(({ startCpuMs }) => startCpuMs.own)),
            seconds(results.map(({ startCpuMs }) => startCpuMs.tools)),
            megabytes(results.map(({ peakMb }) => peakMb)),
          ]),
          ...(peer === undefined ? [[recordedElsewhere.title, recordedElsewhere.firstSync, '', '', '', '']] : []),
        ],
      },
      {
        columns: [
          'one endpoint',
          'sync, s',
          'event → done, s',
          'CPU, s',
          'tools, CPU s',
          'RSS at the end, MB',
          'idle, %',
        ],
        rows: [
          ...cases.map(({ setting, program, runs: results }) => {
            const each = (read: (change: ChangeRun) => number) =>
              seconds(results.flatMap((result) => result.changes.map(read)))
            return [
              `${titleOf(setting)}, ${program.name}`,
              each(({ syncMs }) => syncMs),
              each(({ latencyMs }) => latencyMs),
              each(({ ownCpuMs }) => ownCpuMs),
              each(({ toolsCpuMs }) => toolsCpuMs),
              megabytes(results.map(({ residentMb }) => residentMb)),
              renderSpread(spreadOf(results.map(({ idleShare }) => 100 * (idleShare.own + idleShare.tools))), 1),
            ]
          }),
          ...(peer === undefined
            ? [[recordedElsewhere.title, recordedElsewhere.oneEndpoint, '', '', '', recordedElsewhere.residentMb, '']]
            : []),
        ],
      },
    ],
    findings: settings.flatMap((setting) => ratioFinding(cases.filter((one) => one.setting === setting))),
  }
}

/** For those who have no kube-proxy at hand: measured once, on another machine, so no ratio is worked out. */
const recordedElsewhere = {
  title: '10,000 Services, legacy, kube-proxy 1.36 (recorded elsewhere: a quiet machine with two cores)',
  firstSync: '1.9',
  oneEndpoint: '0.75 – 1.3',
  residentMb: '279',
}

function ratioFinding([ours, peers]: readonly Case[]): readonly string[] {
  if (ours === undefined || peers === undefined) return []
  const ratio = (read: (run: DaemonRun) => readonly number[]) =>
    (spreadOf(ours.runs.flatMap(read)).median / spreadOf(peers.runs.flatMap(read)).median).toFixed(2)
  return [
    [
      `Fairlead : kube-proxy, ${titleOf(ours.setting)}: ${ratio((run) => [run.firstSyncMs])} in the first sync`,
      `${ratio((run) => [run.startCpuMs.own + run.startCpuMs.tools])} in CPU time until it has ended`,
      `${ratio((run) => run.changes.map(({ syncMs }) => syncMs))} in the sync of one endpoint`,
      `${ratio((run) => run.changes.map((change) => change.ownCpuMs + change.toolsCpuMs))} in CPU time for it`,
      `${ratio((run) => [run.residentMb])} in memory.`,
    ].join(', '),
  ]
}

function titleOf({ services, tools }: Setting): string {
  return `${services.toLocaleString('en')} Services, ${tools}`
}

function seconds(valuesMs: readonly number[]): string {
  return renderSpread(spreadOf(valuesMs.map((ms) => ms / 1000)), 2)
}

function megabytes(values: readonly number[]): string {
  return renderSpread(spreadOf(values), 0)
}
