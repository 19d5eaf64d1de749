/** What it costs to count each endpoint and to trace one connection in a thousand: new connections, with and without. */
import type { BenchOptions, BenchSection, BenchTable } from '../bench-group.ts'
import { renderSpread, spreadOf } from '../statistics.ts'
import {
  fairleadTracing,
  startEndpoint,
  startLoad,
  type Engine,
  type RelayProgram,
  type RunningRelay,
} from './relay-programs.ts'

interface Measured {
  readonly perSecond: number
  readonly cpuMsPerThousand: number
}

/** Each measurement of a round is compared with those of the same round: what else the machine does changes slowly. */
const roundsPerRun = 6
const loadMs = 1_000
const clients = 64

const traced = 'one in 1,000 traced'
const untraced = 'none traced'
const before = 'before'

/** A checkout that lacks all of it may be compared, too: compiled, with its engine, as this bench does here. */
const checkoutBefore = process.env['FAIRLEAD_BEFORE']

export async function observingCost(engine: Engine, { runs, progress }: BenchOptions): Promise<BenchSection> {
  await using endpoint = await startEndpoint()
  const programs: readonly RelayProgram[] = [
    fairleadTracing(engine, 0, untraced),
    fairleadTracing(engine, 1_000, traced),
    ...(checkoutBefore === undefined ? [] : [fairleadTracing(engine, 0, before, checkoutBefore)]),
  ]
  const relays = new Map<string, RunningRelay>()
  const rounds: ReadonlyMap<string, Measured>[] = []
  try {
    for (const program of programs) relays.set(program.name, await program.start(endpoint.port))
    for (const relay of relays.values()) await measure(relay) // warms up
    for (let round = 0; round < runs * roundsPerRun; round++) {
      progress(`${engine}, round ${round + 1} of ${runs * roundsPerRun}`)
      rounds.push(await measureAll(relays, round))
    }
  } finally {
    for (const relay of relays.values()) await relay[Symbol.asyncDispose]()
  }
  const others = programs.map(({ name }) => name).filter((name) => name !== traced)
  return {
    title: `What it costs to see connections: ${engine} engine`,
    about: `${clients} clients open connections one after the other, each for one request; relays take turns, ${loadMs / 1000} s each, in ${rounds.length} rounds. Endpoints, durations and failures are always counted. CPU is that of the relay's processes. Median (min – max); ratios are medians of the ratios within each round.`,
    tables: [tableOf(programs, rounds)],
    findings: others.flatMap((other) => compare(other, rounds)),
  }
}

/** Whoever comes first in a round is another one each time. */
async function measureAll(
  relays: ReadonlyMap<string, RunningRelay>,
  round: number,
): Promise<ReadonlyMap<string, Measured>> {
  const measured = new Map<string, Measured>()
  const all = [...relays]
  for (let index = 0; index < all.length; index++) {
    const next = all[(index + round) % all.length]
    if (next !== undefined) measured.set(next[0], await measure(next[1]))
  }
  return measured
}

async function measure(relay: RunningRelay): Promise<Measured> {
  const cpuBefore = relay.process?.cpuMs ?? 0
  await using load = startLoad(relay.port, 'connect', clients, loadMs)
  const { requestsPerSecond, failures } = await load.nextLine<{ requestsPerSecond: number; failures: number }>()
  if (failures > 0) throw new Error(`${failures} connections failed: there is nothing to compare`)
  const cpuMs = (relay.process?.cpuMs ?? 0) - cpuBefore
  return { perSecond: requestsPerSecond, cpuMsPerThousand: cpuMs / ((requestsPerSecond * loadMs) / 1e6) }
}

function tableOf(programs: readonly RelayProgram[], rounds: readonly ReadonlyMap<string, Measured>[]): BenchTable {
  return {
    columns: ['connections', '1,000/s', 'CPU, ms/1,000'],
    rows: programs.map(({ name }) => [
      name,
      renderSpread(spreadOf(valuesOf(name, rounds, ({ perSecond }) => perSecond / 1000)), 2),
      renderSpread(spreadOf(valuesOf(name, rounds, ({ cpuMsPerThousand }) => cpuMsPerThousand)), 1),
    ]),
  }
}

function compare(other: string, rounds: readonly ReadonlyMap<string, Measured>[]): readonly string[] {
  const ratio = (of: (measured: Measured) => number) => {
    const [ours, theirs] = [valuesOf(traced, rounds, of), valuesOf(other, rounds, of)]
    return spreadOf(ours.map((value, index) => value / (theirs[index] ?? NaN))).median.toFixed(3)
  }
  const [rate, cpu] = [ratio(({ perSecond }) => perSecond), ratio(({ cpuMsPerThousand }) => cpuMsPerThousand)]
  return [`${traced} : ${other}: ${rate} in new connections per second, ${cpu} in CPU.`]
}

function valuesOf(
  name: string,
  rounds: readonly ReadonlyMap<string, Measured>[],
  of: (measured: Measured) => number,
): readonly number[] {
  return rounds.map((round) => {
    const measured = round.get(name)
    return measured === undefined ? NaN : of(measured)
  })
}
