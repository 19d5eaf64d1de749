/** How much goes through each relay, and what it costs. */
import type { BenchOptions, BenchSection, BenchTable } from '../bench-group.ts'
import { renderSpread, spreadOf } from '../statistics.ts'
import { startEndpoint, startLoad, type RelayProgram, type RunningRelay } from './relay-programs.ts'

/** What the client in Go prints. */
interface Outcome {
  readonly bytesPerSecond: number
  readonly requestsPerSecond: number
  readonly p99Us: number
  readonly failures: number
}

interface Measured extends Outcome {
  readonly cpuMs: number
}

interface Load {
  readonly title: string
  readonly kind: 'stream' | 'connect' | 'request'
  readonly connections: number
  readonly unit: string
  readonly perSecond: (outcome: Outcome) => number
  readonly digits: number
}

const gigabits = ({ bytesPerSecond }: Outcome) => (bytesPerSecond * 8) / 1e9
const thousands = ({ requestsPerSecond }: Outcome) => requestsPerSecond / 1000

const loads: readonly Load[] = [
  { title: 'bulk, 1 connection', kind: 'stream', connections: 1, unit: 'Gbit/s', perSecond: gigabits, digits: 1 },
  { title: 'bulk, 8 connections', kind: 'stream', connections: 8, unit: 'Gbit/s', perSecond: gigabits, digits: 1 },
  { title: 'new connections', kind: 'connect', connections: 64, unit: '1,000/s', perSecond: thousands, digits: 1 },
  { title: 'kept connections', kind: 'request', connections: 64, unit: '1,000/s', perSecond: thousands, digits: 1 },
]

const loadMs = 1_000

export async function traffic(programs: readonly RelayProgram[], options: BenchOptions): Promise<BenchSection> {
  await using endpoint = await startEndpoint()
  const relays = new Map<string, RunningRelay>()
  const measured = new Map<Load, Map<string, Measured[]>>()
  try {
    for (const program of programs) relays.set(program.name, await program.start(endpoint.port))
    for (let run = 0; run < options.runs; run++)
      for (const load of loads) {
        options.progress(`run ${run + 1} of ${options.runs}: ${load.title}`)
        // Neighbours in time: what else the machine does hits all of them.
        for (const [name, relay] of relays) note(measured, load, name, await measure(load, relay))
      }
  } finally {
    for (const relay of relays.values()) await relay[Symbol.asyncDispose]()
  }
  return {
    title: 'Traffic through a relay',
    about: [
      'One machine runs the client, the relay and the endpoint, all on loopback. The client and the endpoint are epoll loops in Go, one thread each; the client lets the kernel throw streams away.',
      'A request has 64 bytes and its answer 128; new and kept connections come from 64 clients at once, and a new connection carries one request.',
      ...(relays.has('kube-proxy 1.25')
        ? ['kube-proxy 1.25 is asked at its proxy port, so that no rule of the kernel is measured with it.']
        : []),
      `HAProxy runs in TCP mode with its defaults. CPU is that of the relay's processes, per gigabyte or per 1,000 requests. Median (min – max) of ${options.runs} runs.`,
    ].join(' '),
    tables: loads.map((load) => tableOf(load, measured.get(load) ?? new Map())),
    findings: loads.flatMap((load) => ratios(load, measured.get(load) ?? new Map())),
  }
}

async function measure(load: Load, relay: RunningRelay): Promise<Measured> {
  const before = relay.process?.cpuMs ?? 0
  await using client = startLoad(relay.port, load.kind, load.connections, loadMs)
  const outcome = await client.nextLine<Outcome>()
  return { ...outcome, cpuMs: (relay.process?.cpuMs ?? 0) - before }
}

function note(measured: Map<Load, Map<string, Measured[]>>, load: Load, name: string, one: Measured): void {
  const byName = measured.get(load) ?? new Map<string, Measured[]>()
  byName.set(name, [...(byName.get(name) ?? []), one])
  measured.set(load, byName)
}

function tableOf(load: Load, byName: ReadonlyMap<string, readonly Measured[]>): BenchTable {
  const isStream = load.kind === 'stream'
  return {
    columns: [
      load.title,
      load.unit,
      isStream ? 'CPU, s/GB' : 'CPU, ms/1,000',
      ...(isStream ? [] : ['p99, ms', 'failed']),
    ],
    rows: [...byName].map(([name, runs]) => [
      name,
      renderSpread(spreadOf(runs.map(load.perSecond)), load.digits),
      name === 'direct' ? '–' : renderSpread(spreadOf(runs.map((run) => cpuPerUnit(load, run))), isStream ? 2 : 0),
      ...(isStream
        ? []
        : [
            renderSpread(spreadOf(runs.map(({ p99Us }) => p99Us / 1000)), 1),
            `${runs.reduce((sum, { failures }) => sum + failures, 0)}`,
          ]),
    ]),
  }
}

/** The client counts after its warm-up only, the relay's CPU counts all the time. */
function cpuPerUnit(load: Load, { cpuMs, bytesPerSecond, requestsPerSecond }: Measured): number {
  const seconds = loadMs / 1000
  if (load.kind === 'stream') return cpuMs / 1000 / ((bytesPerSecond * seconds) / 1e9)
  return cpuMs / ((requestsPerSecond * seconds) / 1000)
}

function ratios(load: Load, byName: ReadonlyMap<string, readonly Measured[]>): readonly string[] {
  const [ours, others] = [[...byName].filter(isOurs), [...byName].filter((one) => !isOurs(one))]
  return ours.flatMap(([our, mine]) =>
    others.map(([name, theirs]) => {
      const rate = ratio(mine.map(load.perSecond), theirs.map(load.perSecond))
      if (load.kind === 'stream') return `${our} : ${name}, ${load.title}: ${rate}.`
      const p99 = ratio(
        mine.map((run) => run.p99Us),
        theirs.map((run) => run.p99Us),
      )
      return `${our} : ${name}, ${load.title}: ${rate}, and ${p99} in p99.`
    }),
  )
}

function isOurs([name]: readonly [string, unknown]): boolean {
  return name.startsWith('Fairlead')
}

function ratio(ours: readonly number[], theirs: readonly number[]): string {
  return (spreadOf(ours).median / spreadOf(theirs).median).toFixed(2)
}
