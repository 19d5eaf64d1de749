/** What it costs to notice that somebody else changed the rules. */
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { lookEveryMs } from '../../../src/core/sync/look-now-and-then.ts'
import { compareAnyway } from '../../../src/core/sync/watch-for-drift.ts'
import { readAgain } from '../../../src/dataplane/iptables/legacy-chain-changes.ts'
import { Namespace } from '../../packet/testing/namespace.ts'
import type { BenchOptions, BenchSection } from '../bench-group.ts'
import { compiledScript } from '../compiled-scripts.ts'
import { renderSpread, spreadOf } from '../statistics.ts'

export interface DriftResult {
  /** One question whether anything has changed. */
  readonly askMs: number
  /** Finding out which chain has. */
  readonly nameMs: number[]
  readonly looks: LookCost[]
}

/** One comparison of everything. */
export interface LookCost {
  readonly ms: number
  /** Of that, until the kernel's rules were read and cut into chains. */
  readonly readMs: number
  readonly ownCpuMs: number
  readonly toolsCpuMs: number
  /** The longest time in which the event loop did nothing else. */
  readonly longestPauseMs: number
}

const cases = [
  { services: 1_000, variant: 'legacy' },
  { services: 10_000, variant: 'legacy' },
  { services: 1_000, variant: 'nft' },
  { services: 10_000, variant: 'nft' },
] as const

type Case = (typeof cases)[number]

const looksPerProcess = 4
const everything = compareAnyway.exact
const script = compiledScript(new URL('./drift-process.ts', import.meta.url))

export async function drift({ runs, progress }: BenchOptions): Promise<BenchSection> {
  const measured = cases.map((one) => ({ ...one, results: [] as DriftResult[] }))
  for (let run = 1; run <= runs; run++)
    for (const { results, ...one } of measured) {
      progress(`what watching costs, ${titleOf(one)}, run ${run} of ${runs}`)
      results.push(await measure(one))
    }
  return {
    title: 'What watching costs',
    about: [
      `In a fresh network namespace. Every ${lookEveryMs / 1000} s Fairlead asks the kernel whether anything changed. When something`,
      `did, it finds out which chains, and reads those. With the legacy variant it also does so without a reason, because a rule`,
      `can be replaced by one of the same length: every ${readAgain.leastMs / 1000} s, or ${readAgain.timesCost} times what it`,
      `takes if that is longer. "A look" is a comparison of everything: after ${everything.timesCost} times what it takes, but`,
      `within ${everything.leastMs / 1000} to ${everything.mostMs / 1000} s. Median (min – max) of ${looksPerProcess} times in each`,
      `of ${runs} processes.`,
    ].join(' '),
    tables: [
      {
        columns: [
          '',
          'asking, ms',
          'which chains, ms',
          'a look, s',
          'of that reading, s',
          'its CPU, s',
          'iptables-save, CPU s',
          'longest pause of the event loop, ms',
        ],
        rows: measured.map(({ results, ...one }) => {
          const looks = results.flatMap((result) => result.looks)
          const seconds = (read: (look: LookCost) => number) =>
            renderSpread(spreadOf(looks.map((look) => read(look) / 1000)), 2)
          return [
            titleOf(one),
            renderSpread(spreadOf(results.map(({ askMs }) => askMs)), 3),
            renderSpread(spreadOf(results.flatMap(({ nameMs }) => nameMs)), 1),
            seconds(({ ms }) => ms),
            seconds(({ readMs }) => readMs),
            seconds(({ ownCpuMs }) => ownCpuMs),
            seconds(({ toolsCpuMs }) => toolsCpuMs),
            renderSpread(spreadOf(looks.map(({ longestPauseMs }) => longestPauseMs)), 0),
          ]
        }),
      },
    ],
    findings: measured.map(({ results, ...one }) => {
      const shares = results.flatMap(({ nameMs, looks }) =>
        looks.map(
          (look, index) => shareOfLooks(look) + (one.variant === 'legacy' ? shareOfNames(nameMs[index] ?? 0) : 0),
        ),
      )
      return `${titleOf(one)}: watching takes ${(100 * spreadOf(shares).median).toFixed(1)} % of one core while nothing happens, worked out from the pauses.`
    }),
  }
}

function titleOf({ services, variant }: Case): string {
  return `${services.toLocaleString('en')} Services, ${variant}`
}

function shareOfLooks({ ms, ownCpuMs, toolsCpuMs }: LookCost): number {
  const { timesCost, leastMs, mostMs } = everything
  return (ownCpuMs + toolsCpuMs) / (Math.min(mostMs, Math.max(leastMs, timesCost * ms)) + ms)
}

function shareOfNames(ms: number): number {
  return ms / (Math.max(readAgain.leastMs, readAgain.timesCost * ms) + ms)
}

async function measure({ services, variant }: Case): Promise<DriftResult> {
  using namespace = Namespace.make()
  const child = namespace.enter(() =>
    spawn(process.execPath, [script, String(services), String(looksPerProcess), variant], {
      stdio: ['ignore', 'pipe', 'inherit'],
    }),
  )
  const printed = await text(child.stdout)
  if (printed === '') throw new Error('the process that looks for drift failed: its output is above')
  return JSON.parse(printed) as DriftResult
}
