/** What it takes to work out what iptables-restore shall read, without anybody reading it. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { BenchOptions, BenchSection } from '../bench-group.ts'
import { compiledScript } from '../compiled-scripts.ts'
import { renderSpread, spreadOf } from '../statistics.ts'
import { runDaemon } from './daemon-run.ts'
import type { DaemonRun } from './daemon-run.ts'
import type { ProxyProgram } from '../daemon/proxy-program.ts'

export interface BuildResult {
  /** In a fresh process, as at the start of a daemon. */
  readonly first: Cost
  readonly warm: readonly Cost[]
  readonly fullBytes: number
  /** One endpoint each. */
  readonly edits: readonly Cost[]
  readonly mostEditBytes: number
}

export interface Cost {
  readonly ms: number
  readonly cpuMs: number
}

interface Case {
  readonly services: number
  readonly ours: BuildResult[]
  readonly peers: DaemonRun[]
}

const sizes = [1_000, 10_000]
const limits = { services: 10_000, fullMs: 400, editBytes: 4096 }
const changes = 3
const script = compiledScript(new URL('./build-process.ts', import.meta.url))

export async function building(
  peer: ProxyProgram | undefined,
  { runs, progress }: BenchOptions,
): Promise<BenchSection> {
  const cases = sizes.map((services): Case => ({ services, ours: [], peers: [] }))
  for (let run = 1; run <= runs; run++)
    for (const { services, ours, peers } of cases) {
      progress(`building the input for ${services} Services, run ${run} of ${runs}`)
      ours.push(await measure(services))
      if (peer !== undefined)
        peers.push(await runDaemon({ program: peer, services, tools: 'counting', changes, idleMs: 0 }))
    }
  const required = cases.find(({ services }) => services === limits.services)?.ours ?? []
  const first = spreadOf(required.map((result) => result.first.ms))
  const warm = spreadOf(required.flatMap((result) => result.warm.map(({ ms }) => ms)))
  const mostEditBytes = Math.max(...cases.flatMap(({ ours }) => ours.map((result) => result.mostEditBytes)))
  return {
    title: 'Building the input of iptables-restore',
    about: [
      `From the node's view to the text, without any tool. "In a fresh process" is the first time that the code runs, as at`,
      `the start of the daemon; "again" is what a repair costs later. The peer is kube-proxy with an iptables-restore that only`,
      `counts the bytes it reads: its whole first sync, and its sync after one endpoint has changed, with about 30 runs of`,
      `a tiny shell script in the first. Median (min – max) of ${runs} processes; every process changes an endpoint 500 times`,
      `(kube-proxy: ${changes} times).`,
    ].join(' '),
    tables: [
      {
        columns: ['everything', 'fresh process, ms', 'CPU, ms', 'again, ms', 'CPU, ms', 'bytes'],
        rows: cases.flatMap(({ services, ours, peers }) => [
          [
            `${services.toLocaleString('en')} Services, Fairlead`,
            milliseconds(ours.map((result) => result.first.ms)),
            milliseconds(ours.map((result) => result.first.cpuMs)),
            milliseconds(ours.flatMap((result) => result.warm.map(({ ms }) => ms))),
            milliseconds(ours.flatMap((result) => result.warm.map(({ cpuMs }) => cpuMs))),
            bytes(ours.map(({ fullBytes }) => fullBytes)),
          ],
          ...(peers.length === 0
            ? []
            : [
                [
                  `${services.toLocaleString('en')} Services, kube-proxy`,
                  milliseconds(peers.map(({ firstSyncMs }) => firstSyncMs)),
                  '',
                  '',
                  '',
                  bytes(peers.map(({ restoredBytes: [full = 0] }) => full)),
                ],
              ]),
        ]),
      },
      {
        columns: ['one endpoint', 'ms', 'most bytes'],
        rows: cases.flatMap(({ services, ours, peers }) => [
          [
            `${services.toLocaleString('en')} Services, Fairlead`,
            renderSpread(spreadOf(ours.flatMap(({ edits }) => edits.map(({ ms }) => ms))), 2),
            Math.max(...ours.map((result) => result.mostEditBytes)).toLocaleString('en'),
          ],
          ...(peers.length === 0
            ? []
            : [
                [
                  `${services.toLocaleString('en')} Services, kube-proxy`,
                  renderSpread(spreadOf(peers.flatMap((run) => run.changes.map(({ syncMs }) => syncMs))), 2),
                  Math.max(...peers.flatMap(({ restoredBytes }) => restoredBytes.slice(1))).toLocaleString('en'),
                ],
              ]),
        ]),
      },
    ],
    findings: [
      ...cases.flatMap(ratioFinding),
      `Everything for ${limits.services.toLocaleString('en')} Services under ${limits.fullMs} ms: ${verdict(first.median, limits.fullMs)} in a fresh process (median ${first.median.toFixed(0)} ms), ${verdict(warm.median, limits.fullMs)} later (median ${warm.median.toFixed(0)} ms).`,
      `Under ${limits.editBytes} bytes for one endpoint: ${verdict(mostEditBytes, limits.editBytes)} (most ${mostEditBytes} bytes, at every size).`,
    ],
  }
}

async function measure(services: number): Promise<BuildResult> {
  const { stdout } = await promisify(execFile)(process.execPath, [script, String(services)], { maxBuffer: 2 ** 26 })
  return JSON.parse(stdout) as BuildResult
}

function ratioFinding({ services, ours, peers }: Case): readonly string[] {
  if (peers.length === 0) return []
  const full =
    spreadOf(ours.map(({ first }) => first.ms)).median / spreadOf(peers.map(({ firstSyncMs }) => firstSyncMs)).median
  const edit =
    spreadOf(peers.flatMap((run) => run.changes.map(({ syncMs }) => syncMs))).median /
    spreadOf(ours.flatMap(({ edits }) => edits.map(({ ms }) => ms))).median
  return [
    `${services.toLocaleString('en')} Services: everything in a fresh process takes ${full.toFixed(2)} times what kube-proxy takes; one endpoint takes kube-proxy ${Math.round(edit).toLocaleString('en')} times as long.`,
  ]
}

function milliseconds(values: readonly number[]): string {
  return renderSpread(spreadOf(values), 0)
}

function bytes(values: readonly number[]): string {
  return spreadOf(values).median.toLocaleString('en')
}

function verdict(value: number, limit: number): string {
  return value < limit ? 'met' : '**missed**'
}
