/** What it costs to notice that somebody else changed the rules. */
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { Namespace } from '../../packet/testing/namespace.ts'
import type { BenchOptions, BenchSection } from '../bench-group.ts'
import { compiledScript } from '../compiled-scripts.ts'
import { renderSpread, spreadOf } from '../statistics.ts'

export interface DriftResult {
  /** One question whether anything has changed. */
  readonly tokenMs: number
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

const sizes = [1_000, 10_000]
const looksPerProcess = 4
/** As in DriftWatch. */
const pauseTimesLook = 50
const script = compiledScript(new URL('./drift-process.ts', import.meta.url))

export async function drift({ runs, progress }: BenchOptions): Promise<BenchSection> {
  const cases = sizes.map((services) => ({ services, results: [] as DriftResult[] }))
  for (let run = 1; run <= runs; run++) {
    progress(`noticing drift, run ${run} of ${runs}`)
    for (const { services, results } of cases) results.push(await measure(services))
  }
  return {
    title: 'Noticing what others change',
    about: [
      `With iptables-legacy, in a fresh network namespace. Every two seconds Fairlead asks the kernel whether anything`,
      `changed. Only when somebody else did, and after a pause of ${pauseTimesLook} looks (4 s to 60 s), it reads both tables and`,
      `compares them with what it wrote ("a look"). kube-proxy looks for one empty chain every 30 seconds, so there is no`,
      `peer. Median (min – max) of ${looksPerProcess} looks in each of ${runs} processes.`,
    ].join(' '),
    tables: [
      {
        columns: [
          'Services',
          'asking, ms',
          'a look, s',
          'of that reading, s',
          'its CPU, s',
          'iptables-save, CPU s',
          'longest pause of the event loop, ms',
        ],
        rows: cases.map(({ services, results }) => {
          const looks = results.flatMap((result) => result.looks)
          const seconds = (read: (look: LookCost) => number) =>
            renderSpread(spreadOf(looks.map((look) => read(look) / 1000)), 2)
          return [
            services.toLocaleString('en'),
            renderSpread(spreadOf(results.map(({ tokenMs }) => tokenMs)), 3),
            seconds(({ ms }) => ms),
            seconds(({ readMs }) => readMs),
            seconds(({ ownCpuMs }) => ownCpuMs),
            seconds(({ toolsCpuMs }) => toolsCpuMs),
            renderSpread(spreadOf(looks.map(({ longestPauseMs }) => longestPauseMs)), 0),
          ]
        }),
      },
    ],
    findings: cases.map(({ services, results }) => {
      const shares = results.flatMap(({ looks }) => looks.map(shareOfCore))
      return `${services.toLocaleString('en')} Services: looks that find nothing take ${(100 * spreadOf(shares).median).toFixed(1)} % of one core, worked out from the pauses between them.`
    }),
  }
}

function shareOfCore({ ms, ownCpuMs, toolsCpuMs }: LookCost): number {
  const pauseMs = Math.min(60_000, Math.max(4_000, pauseTimesLook * ms))
  return (ownCpuMs + toolsCpuMs) / (pauseMs + ms)
}

async function measure(services: number): Promise<DriftResult> {
  using namespace = Namespace.make()
  const child = namespace.enter(() =>
    spawn(process.execPath, [script, String(services), String(looksPerProcess)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    }),
  )
  const printed = await text(child.stdout)
  if (printed === '') throw new Error('the process that looks for drift failed: its output is above')
  return JSON.parse(printed) as DriftResult
}
