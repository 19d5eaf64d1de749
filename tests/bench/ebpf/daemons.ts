/** The whole daemon, from the API server to what clients get. */
import type { BenchOptions, BenchSection, BenchTable } from '../bench-group.ts'
import { fairlead } from '../daemon/proxy-program.ts'
import type { ProxyProgram } from '../daemon/proxy-program.ts'
import { renderSpread, spreadOf } from '../statistics.ts'
import { pauseMs, runDaemon, warmUps } from './daemon-run.ts'
import type { DaemonCase, DaemonRun } from './daemon-run.ts'
import { measureFloor } from './floor.ts'

const usualServices = 10_000
const manyServices = 50_000
const changes = 150
/** Each takes it seconds. */
const rivalChanges = 3
/** With the usual number of Services. */
const promised = { socketsMs: 500, changeMs: 1 }

interface Case extends DaemonCase {
  readonly title: string
  /** How often it lives. */
  readonly lives: number
  readonly runs: DaemonRun[]
}

export async function daemons(
  kubeProxy: ProxyProgram | undefined,
  { runs, services: asked, progress }: BenchOptions,
): Promise<BenchSection> {
  const cases = [asked ?? usualServices, ...(asked === undefined ? [manyServices] : [])].flatMap((services) =>
    casesWith(services, runs, kubeProxy),
  )
  // Turn by turn, so that a busy minute of the machine does not fall on one of them alone.
  for (let life = 1; life <= runs; life++)
    for (const one of cases) {
      if (life > one.lives) continue
      progress(`the daemon, ${one.title}, run ${life} of ${one.lives}`)
      one.runs.push(await runDaemon(one))
    }
  progress('what the machine allows')
  const floor = spreadOf(
    await measureFloor({ services: asked ?? usualServices, warmUps, changes: changes * 2, pauseMs }),
  )
  return {
    title: 'The whole daemon: first sync and one endpoint, from the event to the effect',
    about: about(cases),
    tables: [firstSyncs(cases), oneEndpoint(cases)],
    findings: [
      ...findings(cases.filter(({ services }) => services === (asked ?? usualServices))),
      `A thread of Node.js that only reads and parses the same events, and stores one word for each: p50 ${floor.median.toFixed(2)} ms, p99 ${floor.p99.toFixed(2)} ms. That is what the events alone cost here, without routing or syncing anything.`,
    ],
  }
}

function casesWith(services: number, runs: number, kubeProxy: ProxyProgram | undefined): readonly Case[] {
  const size = `${services.toLocaleString('en')} Services`
  const lives = services > usualServices ? 1 : Math.min(runs, 3)
  const ours = (['ebpf', 'nftables'] as const).map((mode): Case => ({
    title: `${size}, Fairlead, ${mode}`,
    program: fairlead,
    mode,
    services,
    changes,
    lives,
    runs: [],
  }))
  // Its time grows with the square of the Services.
  if (kubeProxy === undefined || services > usualServices) return ours
  const mode = 'nftables'
  const title = `${size}, kube-proxy, ${mode}`
  return [...ours, { title, program: kubeProxy, mode, services, changes: rivalChanges, lives: 1, runs: [] }]
}

function about(cases: readonly Case[]): string {
  const most = Math.max(...cases.map(({ lives }) => lives))
  return [
    'The daemon as it is installed, in a fresh network namespace, against the API server of group core (streaming list, JSON), 4',
    'endpoints for each Service, both IP families, IPv4 objects, flags at their defaults but for the pod range and the pause between',
    'syncs (1 ms). The tables of the sockets are done when the last program is attached, which is the last step of their first sync.',
    "A changed endpoint is timed from the API server's write of the event to its socket: until another process sees the new list in",
    'the memory of the map (it looks about every 0.1 ms), and until the kernel says that the transaction of nf_tables is committed. CPU is that of the',
    `proxy and the programs that it ran. Median (min – max) of up to ${most} runs, turn by turn; changes are those of all runs.`,
  ].join(' ')
}

function firstSyncs(cases: readonly Case[]): BenchTable {
  const columns = [
    'first sync',
    'last byte → sockets, s',
    'last byte → all, s',
    'CPU since the start, s',
    'RSS at the end, MB',
  ]
  return {
    columns,
    rows: cases.map(({ title, runs }) => [
      title,
      seconds(runs.flatMap(({ socketsFromLastByteMs }) => socketsFromLastByteMs ?? [])),
      seconds(runs.map(({ fromLastByteMs }) => fromLastByteMs)),
      seconds(runs.map(({ startCpuMs }) => startCpuMs)),
      renderSpread(spreadOf(runs.map(({ residentMb }) => residentMb)), 0),
    ]),
  }
}

function oneEndpoint(cases: readonly Case[]): BenchTable {
  const columns = [
    'one endpoint',
    'changes',
    'event → sockets p50, ms',
    'p99, ms',
    'event → packets p50, ms',
    'p99, ms',
    'CPU, ms',
  ]
  return {
    columns,
    rows: cases.map(({ title, runs }) => {
      const packets = runs.flatMap(({ packetsMs }) => packetsMs)
      return [
        title,
        packets.length.toLocaleString('en'),
        ...middleAndTail(runs.flatMap(({ socketsMs }) => socketsMs)),
        ...middleAndTail(packets),
        renderSpread(spreadOf(runs.map(({ cpuPerChangeMs }) => cpuPerChangeMs)), 1),
      ]
    }),
  }
}

function findings([ebpf, nftables, kubeProxy]: readonly Case[]): readonly string[] {
  if (ebpf === undefined || nftables === undefined) return []
  const size = `${ebpf.services.toLocaleString('en')} Services`
  const sockets = spreadOf(ebpf.runs.flatMap(({ socketsFromLastByteMs }) => socketsFromLastByteMs ?? []))
  const change = spreadOf(ebpf.runs.flatMap(({ socketsMs }) => socketsMs))
  const packets = ({ runs }: Case) => spreadOf(runs.flatMap(({ packetsMs }) => packetsMs)).median
  const first = ({ runs }: Case) => spreadOf(runs.map(({ fromLastByteMs }) => fromLastByteMs)).median
  return [
    `Tables of the sockets of ${size} within ${promised.socketsMs} ms of the last byte: ${verdict(sockets.median <= promised.socketsMs)} (median ${sockets.median.toFixed(0)} ms, best ${sockets.min.toFixed(0)} ms).`,
    `One endpoint at the sockets within ${promised.changeMs} ms of the API server's write at p99: ${verdict(change.p99 <= promised.changeMs)} (p50 ${change.median.toFixed(2)} ms, p99 ${change.p99.toFixed(2)} ms).`,
    `nftables mode : ebpf mode, from the event until local clients have the new endpoint: ${(packets(nftables) / change.median).toFixed(1)} (p50).`,
    ...(kubeProxy === undefined
      ? []
      : [
          `kube-proxy : ebpf mode: ${(first(kubeProxy) / sockets.median).toFixed(0)} from the last byte until local clients are served, ${Math.round(packets(kubeProxy) / change.median).toLocaleString('en')} in one endpoint (p50).`,
        ]),
  ]
}

function middleAndTail(values: readonly number[]): readonly [string, string] {
  if (values.length === 0) return ['', '']
  const { median, p99 } = spreadOf(values)
  return [median.toFixed(2), p99.toFixed(2)]
}

function seconds(valuesMs: readonly number[]): string {
  return valuesMs.length === 0 ? '' : renderSpread(spreadOf(valuesMs.map((ms) => ms / 1000)), 2)
}

function verdict(isMet: boolean): string {
  return isMet ? 'met' : '**missed**'
}
