/** The numbers of one run as a table, and whether the promise was kept. */
import type { BenchSection } from '../bench-group.ts'
import type { Cost } from './core-process.ts'
import type { DelaySpread, FirstState, SwarmReport } from './swarm.ts'

export interface Scale {
  readonly nodes: number
  readonly services: number
  readonly changesPerSecond: number
  readonly seconds: number
}

type Costs = Readonly<Record<'core' | 'swarm' | 'api', Cost>>

export interface ManyNodes {
  readonly scale: Scale
  readonly firstState: FirstState
  readonly attachSeconds: number
  /** The core before any node came. */
  readonly idle: Cost
  /** Before and after the changes. */
  readonly before: Costs
  readonly after: Costs
  readonly seconds: number
  readonly changedAtMs: readonly number[]
  readonly report: SwarmReport
  /** How often the API server was asked for a watch, for each kind of object that was. */
  readonly watches: readonly number[]
  readonly api: { readonly changedBytes: number }
}

const promisedP99Ms = 1000

export function manyNodesSection(run: ManyNodes): BenchSection {
  const { scale, report } = run
  const nodes = scale.nodes.toLocaleString('en')
  const services = scale.services.toLocaleString('en')
  return {
    title: `One core for ${nodes} nodes and ${services} Services`,
    about:
      `Each Service has 4 endpoints. The API server has its answers ready as bytes. Each node follows one ` +
      `\`fairlead kube to-api\` over a TCP connection of its own on loopback, in plaintext, and asks again as soon as it ` +
      `has an answer. One endpoint of one Service changes ${scale.changesPerSecond} times a second for ${scale.seconds} s; ` +
      `every node has to hear of every change. A delay is the time from the API server's event to the end of the ` +
      `change set at the node. The nodes are one Go program that reads HTTP/2 and protobuf only as far as it must; it ` +
      `and the API server share the machine with the core. The core sends to a node every 100 ms at most (its default).`,
    tables: [{ columns: ['', ''], rows: rowsOf(run) }],
    findings: [
      `99 of 100 deliveries within 1 s: ${met(report.delay.p99Ms < promisedP99Ms)} (${ms(report.delay.p99Ms)}).`,
      `Every node has every change: ${met(report.missing === 0)} (${report.missing} missing); of ${report.compared} nodes ` +
        `whose whole state was compared with that of a newcomer, ${report.different} differ.`,
      `One watch on the API server for each kind of object: ${met(run.watches.every((count) => count === 1))}.`,
      `If each node watched EndpointSlices itself, the API server would have sent ${nodes} times the bytes.`,
    ],
  }
}

function rowsOf(run: ManyNodes): readonly (readonly [string, string])[] {
  const { scale, firstState, report, before, after, seconds, changedAtMs } = run
  const cpu = (part: keyof Costs) =>
    `${((100 * (after[part].cpuSeconds - before[part].cpuSeconds)) / seconds).toFixed(0)} %`
  const perNodeSecond = report.changeSets / scale.nodes / seconds
  const perSecond = (bytes: number) => `${(bytes / seconds / 1e6).toFixed(2)} MB/s`
  return [
    ['first state at all nodes', `${run.attachSeconds.toFixed(1)} s, ${(firstState.bytes / 1e6).toFixed(0)} MB`],
    ['changes per second', (changedAtMs.length / seconds).toFixed(0)],
    ['delay to a node: median, p99, max', spread(report.delay)],
    ['delay to the last node: median, p99, max', spread(report.delayToAll)],
    ['answers per node and second', perNodeSecond.toFixed(1)],
    ['API server → core', perSecond(run.api.changedBytes)],
    ['core → all nodes', perSecond(report.bytes - firstState.bytes)],
    ['watches on the API server', `${sum(run.watches)} for ${run.watches.length} kinds of objects`],
    ['CPU of the core, of one processor', cpu('core')],
    ['CPU of all nodes, of the API server', `${cpu('swarm')}, ${cpu('api')}`],
    ['memory of the core without nodes', mb(run.idle.megabytes)],
    ['with nodes, before the changes', mb(before.core.megabytes)],
    ['after the changes', mb(after.core.megabytes)],
    ['at most', mb(after.core.peakMegabytes)],
  ]
}

function spread({ medianMs, p99Ms, maxMs }: DelaySpread): string {
  return [medianMs, p99Ms, maxMs].map(ms).join(', ')
}

function ms(value: number): string {
  return `${value.toFixed(0)} ms`
}

function mb(value: number): string {
  return `${value.toFixed(0)} MB`
}

function met(isMet: boolean): string {
  return isMet ? 'met' : 'missed'
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
