/** The kernelspace mode: what the first sync and one changed endpoint cost, in calls to HNS. */
import type { HnsProfile } from '../../../src/dataplane/hcn/memory/hns-options.ts'
import type { BenchGroup, BenchOptions, BenchSection } from '../bench-group.ts'
import { renderSpread, spreadOf } from '../statistics.ts'
import { callMs, measureHns } from './hns-bench.ts'
import type { HnsRun } from './hns-bench.ts'
import { callsOfFirstSync, callsOfOneChange } from './kube-proxy-calls.ts'

const services = 1000
const changes = 20
const profiles = [
  { profile: '2022', canModify: false },
  { profile: '2025', canModify: true },
] as const satisfies readonly { profile: HnsProfile; canModify: boolean }[]

export const windowsGroup: BenchGroup = {
  name: 'windows',
  run: async (options) => [await calls(options)],
}

interface Case {
  readonly title: string
  readonly canModify: boolean
  readonly runs: HnsRun[]
}

async function calls(options: BenchOptions): Promise<BenchSection> {
  const cases: readonly (Case & { readonly profile: HnsProfile })[] = profiles.map(({ profile, canModify }) => ({
    title: `Windows Server ${profile}`,
    profile,
    canModify,
    runs: [],
  }))
  for (let round = 1; round <= options.runs; round++)
    for (const { title, profile, runs } of cases) {
      options.progress(`${title}, round ${round} of ${options.runs}`)
      runs.push(await measureHns(services, changes, profile))
    }
  return {
    title: `${count(services)} Services of 4 endpoints, and one endpoint that changes`,
    about: [
      `The backend runs against the HNS in memory, each function of whose library takes ${callMs} ms. Nobody waits for that:`,
      'it is added to the time that Fairlead itself took. Calls of kube-proxy 1.36 are not measured but counted from its',
      `source, and its time is ${callMs} ms for each. One Service in ten has a node port, too, and one in fifty a load`,
      'balancer. Before Server 2025, HNS cannot change a load balancer: it is deleted and made anew.',
      `Median (min – max) of ${options.runs} ${options.runs === 1 ? 'run' : 'runs'}.`,
    ].join(' '),
    tables: [
      {
        columns: ['', 'first sync: calls', 's', 'one endpoint: calls', 's'],
        rows: cases.flatMap((one) => [ours(one), theirs(one)]),
      },
    ],
    findings: cases.map(finding),
  }
}

function ours({ title, runs }: Case): readonly string[] {
  const changed = runs.flatMap((run) => run.changes)
  return [
    `${title}, Fairlead`,
    count(spreadOf(runs.map(({ first }) => first.calls)).median),
    seconds(runs.map(({ first }) => first.ms)),
    count(spreadOf(changed.map((cost) => cost.calls)).median),
    seconds(changed.map(({ ms }) => ms)),
  ]
}

function theirs({ title, canModify, runs: [run] }: Case): readonly string[] {
  if (run === undefined) return []
  const [first, change] = [callsOfFirstSync(run), callsOfOneChange(run, { canModify })]
  const time = (number: number) => ((number * callMs) / 1000).toFixed(1)
  return [`${title}, kube-proxy (counted)`, count(first), time(first), count(change), time(change)]
}

function finding({ title, canModify, runs }: Case): string {
  const [run] = runs
  if (run === undefined) return ''
  const own = spreadOf(runs.flatMap((one) => one.changes.map(({ calls: made }) => made))).median
  const ratio = callsOfOneChange(run, { canModify }) / own
  return `${title}: one endpoint costs ${count(own)} calls, whatever else HNS holds; kube-proxy : Fairlead ${count(ratio)}.`
}

function seconds(ms: readonly number[]): string {
  return renderSpread(spreadOf(ms.map((it) => it / 1000)), 2)
}

function count(number: number): string {
  return Math.round(number).toLocaleString('en')
}
