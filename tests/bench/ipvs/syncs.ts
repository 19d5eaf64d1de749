/** The whole daemon inside a guest: first sync, one endpoint, messages, memory. */
import type { BenchOptions, BenchSection } from '../bench-group.ts'
import { fairlead } from '../daemon/proxy-program.ts'
import type { ProxyProgram } from '../daemon/proxy-program.ts'
import { renderSpread, spreadOf } from '../statistics.ts'
import type { ChangeCost, IpvsRun, SyncCost } from './ipvs-run.ts'
import { measureInGuest } from './measure-in-guest.ts'

const promisedServices = 5000
/** kube-proxy starts a program for each entry of a set: its first sync of 200 took three minutes in a guest. */
const comparedServices = 100

interface SyncCase {
  readonly program: ProxyProgram
  readonly services: number
  readonly changes: number
  readonly runs: IpvsRun[]
}

export async function syncs(peer: ProxyProgram | undefined, options: BenchOptions): Promise<BenchSection> {
  const cases: readonly SyncCase[] = [
    { program: fairlead, services: promisedServices, changes: 10, runs: [] },
    { program: fairlead, services: comparedServices, changes: 10, runs: [] },
    ...(peer === undefined ? [] : [{ program: peer, services: comparedServices, changes: 5, runs: [] }]),
  ]
  for (let round = 1; round <= options.runs; round++)
    for (const { program, services, changes, runs } of cases) {
      options.progress(`${program.name}, ${services} Services, round ${round} of ${options.runs}`)
      runs.push(await measureInGuest({ program, services, changes }))
    }
  return {
    title: 'First sync, one endpoint, messages and memory',
    about: [
      'Each run is the whole daemon in a guest of user-mode-linux (Linux 6.1) with one processor and slow system calls:',
      'mind the ratios, and the counts, which are exact. Objects come from the API server of group `core`, with 4',
      'endpoints per Service; one Service in ten has a node port too. Messages are those that the',
      "kernel's netlink monitor showed: requests to IPVS that write and that read, the servers in the answers, and",
      'requests to IP sets, addresses and connection tracking. "Elsewhere" are requests to IPVS that do not speak of',
      'the Service that changed. Changes come while nobody else speaks with the kernel: Fairlead also reads all of it',
      'now and then, to notice what others did, at a pace that follows what that costs. Counts of the first sync are of',
      'both families, and of what began before its end was noticed (asked for five times a second).',
      `Median (min – max) of ${options.runs} ${options.runs === 1 ? 'run' : 'runs'}.`,
    ].join(' '),
    tables: [firstSyncs(cases), oneEndpoint(cases)],
    findings: findings(cases),
  }
}

function firstSyncs(cases: readonly SyncCase[]): BenchSection['tables'][number] {
  return {
    columns: [
      'first sync',
      'sync, s',
      'last event → end, s',
      'CPU since the start, s',
      'IPVS writes / reads',
      'servers read',
      'other requests',
      'processes and threads',
      'RSS, MB (peak)',
    ],
    rows: cases.map((one) => {
      const each = (read: (cost: SyncCost) => number) => spreadOf(one.runs.map(({ first }) => read(first)))
      const resident = spreadOf(one.runs.map(({ residentMb }) => residentMb))
      const peak = spreadOf(one.runs.map(({ peakMb }) => peakMb))
      return [
        titleOf(one),
        renderSpread(
          each(({ syncMs }) => syncMs / 1000),
          1,
        ),
        renderSpread(
          each(({ latencyMs }) => latencyMs / 1000),
          1,
        ),
        renderSpread(
          each(({ cpuMs }) => cpuMs / 1000),
          1,
        ),
        ...messageColumns(each),
        `${resident.median.toFixed(0)} (${peak.median.toFixed(0)})`,
      ]
    }),
  }
}

function oneEndpoint(cases: readonly SyncCase[]): BenchSection['tables'][number] {
  return {
    columns: [
      'one endpoint',
      'sync, ms',
      'event → end, ms',
      'CPU, ms',
      'IPVS writes / reads',
      'servers read',
      'other requests',
      'processes and threads',
      'elsewhere',
    ],
    rows: cases.map((one) => {
      const each = (read: (cost: ChangeCost) => number) => spreadOf(changesOf(one).map(read))
      return [
        titleOf(one),
        renderSpread(
          each(({ syncMs }) => syncMs),
          0,
        ),
        renderSpread(
          each(({ latencyMs }) => latencyMs),
          0,
        ),
        renderSpread(
          each(({ cpuMs }) => cpuMs),
          0,
        ),
        ...messageColumns(each),
        count(each(({ requestsElsewhere }) => requestsElsewhere).median),
      ]
    }),
  }
}

function messageColumns(each: (read: (cost: SyncCost) => number) => ReturnType<typeof spreadOf>): readonly string[] {
  const median = (read: (cost: SyncCost) => number) => count(each(read).median)
  return [
    `${median(({ messages }) => messages.ipvsWrites)} / ${median(({ messages }) => messages.ipvsReads)}`,
    median(({ messages }) => messages.ipvsObjectsRead),
    median(({ messages }) => messages.otherRequests),
    median(({ started }) => started),
  ]
}

function findings(cases: readonly SyncCase[]): readonly string[] {
  const [large, small, peer] = cases
  if (large === undefined || small === undefined) return []
  const changes = changesOf(large)
  const untouched = changes.filter(({ requestsElsewhere }) => requestsElsewhere === 0).length
  const same = `With ${count(large.services)} Services, ${untouched} of ${changes.length} changes of one endpoint neither read nor wrote any other Service.`
  return peer === undefined ? [same] : [same, ratios(peer, small)]
}

function ratios(peer: SyncCase, ours: SyncCase): string {
  const ratio = (read: (one: SyncCase) => readonly number[]) =>
    (spreadOf(read(peer)).median / spreadOf(read(ours)).median).toFixed(1)
  const first = ratio(({ runs }) => runs.map((run) => run.first.syncMs))
  const change = ratio((one) => changesOf(one).map(({ latencyMs }) => latencyMs))
  const cpu = ratio((one) => changesOf(one).map(({ cpuMs }) => cpuMs))
  const requests = ratio((one) => changesOf(one).map(({ messages }) => messages.ipvsWrites + messages.ipvsReads))
  const memory = ratio(({ runs }) => runs.map(({ residentMb }) => residentMb))
  return `kube-proxy : Fairlead with ${count(ours.services)} Services: ${first} in the first sync; for one endpoint ${change} from event to end, ${cpu} in CPU time, ${requests} in requests to IPVS; ${memory} in memory.`
}

function changesOf({ runs }: SyncCase): readonly ChangeCost[] {
  return runs.flatMap(({ changes }) => changes)
}

function titleOf({ program, services }: SyncCase): string {
  return `${count(services)} Services, ${program.name}`
}

function count(number: number): string {
  return Math.round(number).toLocaleString('en')
}
