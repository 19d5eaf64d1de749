/** What it costs to be watched: metrics, traces in memory and time to safety, compared with none of them. */
import type { BenchGroup, BenchOptions, BenchSection } from '../bench-group.ts'
import { compileScripts } from '../compiled-scripts.ts'
import { renderSpread, spreadOf } from '../statistics.ts'
import { watchedDaemons } from './watched-daemons.ts'
import { ObservedProcess } from './observed-process-client.ts'
import type { Cost } from './observed-result.ts'

const services = 10_000
/** Until V8 has compiled what every change runs: one that is not warm takes twice as long, watched or not. */
const warmUps = 3000
const turns = 30
/** Of one turn: long enough for what is collected as garbage, short enough that the other has the same machine. */
const changes = 100

export const observabilityGroup: BenchGroup = {
  name: 'observability',
  async run(options) {
    options.progress('compiling what is measured')
    await compileScripts()
    return [await watched(options), await watchedDaemons(options)]
  },
}

interface Case {
  readonly title: string
  readonly switch: 'on' | 'off'
  readonly firsts: Cost[]
  /** Of each turn, what one change took. */
  readonly turns: Cost[]
}

async function watched({ runs, progress }: BenchOptions): Promise<BenchSection> {
  const off: Case = { title: 'nothing', switch: 'off', firsts: [], turns: [] }
  const on: Case = { title: 'metrics, traces in memory, time to safety', switch: 'on', firsts: [], turns: [] }
  for (let run = 1; run <= runs; run++) {
    progress(`run ${run} of ${runs}`)
    await measurePair(run % 2 === 0 ? [on, off] : [off, on])
  }
  return {
    title: `${services.toLocaleString('en')} Services of 4 endpoints, watched and not`,
    about: [
      'From objects to the kernel, in one process and a network namespace of its own: intake, catalog, routes of one family,',
      'the nftables backend and its transactions over netlink. Two processes, one of each kind, live side by side: in one process V8',
      `would compile the code for both kinds at once, and so for neither. Each makes its first sync, with all objects, and ${warmUps.toLocaleString('en')} changes of an endpoint`,
      `to warm up. A change begins with the bytes of its watch event. Then they take turns of ${changes} changes, one after the other, ${turns} turns each. Median (min – max) of ${runs} such pairs. The ratio`,
      'of one change is the median of the ratios of all pairs of turns; that of the first sync, of two runs in turned order.',
    ].join(' '),
    tables: [
      {
        columns: ['watched by', 'first sync, ms', 'CPU, ms', 'one change, ms', 'CPU, ms', 'RSS, MB'],
        rows: [off, on].map(({ title, firsts, turns: costs }) => [
          title,
          spread(firsts, ({ ms }) => ms, 0),
          spread(firsts, ({ cpuMs }) => cpuMs, 0),
          spread(costs, ({ ms }) => ms, 3),
          spread(costs, ({ cpuMs }) => cpuMs, 3),
          spread(costs, ({ residentMb }) => residentMb, 0),
        ]),
      },
    ],
    findings: findings(on, off),
  }
}

function findings(on: Case, off: Case): readonly string[] {
  const firstCpu = ratioOfFirsts(on, off, ({ cpuMs }) => cpuMs)
  const changeCpu = ratioOfTurns(on, off, ({ cpuMs }) => cpuMs)
  const firstMs = ratioOfFirsts(on, off, ({ ms }) => ms)
  const changeMs = ratioOfTurns(on, off, ({ ms }) => ms)
  return [
    `Watched : not watched: ${firstMs.toFixed(3)} in the first sync, ${firstCpu.toFixed(3)} in its CPU time, ${changeMs.toFixed(3)} in one change, ${changeCpu.toFixed(3)} in its CPU time.`,
    `Within 5 % of CPU time, which other work on the machine touches least: the first sync ${isWithin(firstCpu)}, one change ${isWithin(changeCpu)}.`,
  ]
}

async function measurePair(cases: readonly Case[]): Promise<void> {
  const pair: { readonly measured: Case; readonly process: ObservedProcess }[] = []
  try {
    for (const measured of cases) {
      const process = new ObservedProcess(services, measured.switch)
      pair.push({ measured, process })
      measured.firsts.push(await process.firstSync())
    }
    for (const { process } of pair) await process.change(warmUps)
    for (let turn = 0; turn < turns; turn++)
      for (const { measured, process } of turn % 2 === 0 ? pair : pair.toReversed())
        measured.turns.push(await process.change(changes))
  } finally {
    for (const { process } of pair) await process.end()
  }
}

function spread(costs: readonly Cost[], read: (cost: Cost) => number, digits: number): string {
  return renderSpread(spreadOf(costs.map(read)), digits)
}

/** Turns that followed each other had the same machine, however busy it was. */
function ratioOfTurns(on: Case, off: Case, read: (cost: Cost) => number): number {
  return spreadOf(on.turns.map((cost, turn) => read(cost) / read(off.turns[turn]!))).median
}

/**
 * The second process of a pair starts slower than the first, whichever kind it is. So two runs, one in each order, make one
 * ratio.
 */
function ratioOfFirsts(on: Case, off: Case, read: (cost: Cost) => number): number {
  const ratios = on.firsts.map((cost, run) => read(cost) / read(off.firsts[run]!))
  const balanced = ratios.slice(1).map((ratio, index) => Math.sqrt(ratio * ratios[index]!))
  return spreadOf(balanced.length > 0 ? balanced : ratios).median
}

function isWithin(ratio: number): string {
  return ratio <= 1.05 ? 'is' : 'is not'
}
