/** What clients on the node notice: new connections, requests over kept ones, and datagrams. */
import type { BenchOptions, BenchSection, BenchTable } from '../bench-group.ts'
import { renderSpread, spreadOf } from '../statistics.ts'
import { TrafficSite } from './traffic-site.ts'
import type { ClientPlace, Measured, Request, RequestKind, Way } from './traffic-site.ts'

const usualServices = 10_000
const sliceMs = 300
const roundsPerRun = 3
/** Of what a client gets who asks the endpoint itself, for new connections and kept requests. */
const promisedOfDirect = 0.97

const places: readonly ClientPlace[] = ['pod', 'host']
const titlesByWay: ReadonlyMap<Way, string> = new Map([
  ['direct', 'direct to the endpoint'],
  ['sockets', 'socket balancing'],
  ['nftables', 'flat nftables'],
])
const titlesByKind: ReadonlyMap<RequestKind, string> = new Map([
  ['connect', 'new connections/s'],
  ['kept', 'kept requests/s'],
  ['datagrams', 'UDP unconnected/s'],
  ['connected-datagrams', 'UDP connected/s'],
])
const namesByKind: ReadonlyMap<RequestKind, string> = new Map([
  ['connect', 'for new connections'],
  ['kept', 'for kept ones'],
  ['datagrams', 'for unconnected UDP'],
  ['connected-datagrams', 'for connected UDP'],
])
const [ways, kinds] = [[...titlesByWay.keys()], [...titlesByKind.keys()]]

interface Case extends Request {
  readonly rounds: Measured[]
}

export async function traffic({ runs, services = usualServices, progress }: BenchOptions): Promise<BenchSection> {
  progress('filling the tables of the node')
  await using site = await TrafficSite.open(services)
  const cases = places.flatMap((from) =>
    kinds.flatMap((kind) => ways.map((way): Case => ({ from, kind, way, rounds: [] }))),
  )
  const rounds = runs * roundsPerRun
  // The first round warms up. Cases that are compared follow each other, and each comes first as often as the others.
  for (let round = 0; round <= rounds; round++) {
    progress(`traffic, round ${round} of ${rounds}`)
    for (let at = 0; at < cases.length; at += ways.length)
      for (let turn = 0; turn < ways.length; turn++) {
        const one = cases[at + ((round + turn) % ways.length)] as Case
        const measured = await site.measure(one, sliceMs)
        if (round > 0) one.rounds.push(measured)
      }
  }
  return {
    title: `Clients on the node, with ${services.toLocaleString('en')} Services`,
    about: about(rounds),
    tables: places.flatMap((from) => {
      const ofPlace = cases.filter((one) => one.from === from)
      return [rates(from, ofPlace), cpu(from, ofPlace), latency(from, ofPlace)]
    }),
    findings: places.flatMap((from) => findings(cases.filter((one) => one.from === from))),
  }
}

function about(rounds: number): string {
  return [
    'A pod with clients, the node, and a pod with the 4 endpoints of one Service each have a network namespace, joined by veth pairs; the',
    'node has the tables for sockets and for packets. Clients in the cgroup of the hooks use the first, those outside of it the',
    'second; the bench checks that by the counters. A new connection is one byte there and back, and a reset; kept requests and',
    'datagrams are 64 bytes there and back on 8 sockets at a time. Client and server are one thread each and share one processor;',
    'CPU is that of both, which other work on the machine touches less than the rate. Waiting is for one new connection, or for the',
    'answers on 8 kept ones. Every case passes conntrack on the node. Cases take turns,',
    `${sliceMs} ms each, in ${rounds} rounds. Median (min – max); ratios are medians of the ratios within each round.`,
  ].join(' ')
}

function rates(from: ClientPlace, cases: readonly Case[]): BenchTable {
  const show = (rounds: readonly Measured[]) => {
    const { min, median, max } = spreadOf(rounds.map(({ perSecond }) => perSecond))
    return `${whole(median)} (${whole(min)} – ${whole(max)})`
  }
  return tableOf(`client: ${from}`, [...titlesByKind.values()], cases, show)
}

function cpu(from: ClientPlace, cases: readonly Case[]): BenchTable {
  const titles = ['new connection', 'kept request', 'UDP unconnected', 'UDP connected'].map(
    (title) => `${title}, CPU µs`,
  )
  const show = (rounds: readonly Measured[]) => renderSpread(spreadOf(rounds.map(({ cpuUs }) => cpuUs)), 1)
  return tableOf(`client: ${from}`, titles, cases, show)
}

function tableOf(
  title: string,
  columns: readonly string[],
  cases: readonly Case[],
  show: (rounds: readonly Measured[]) => string,
): BenchTable {
  return {
    columns: [title, ...columns],
    rows: ways.map((way) => [titlesByWay.get(way) ?? way, ...kinds.map((kind) => show(roundsOf(cases, kind, way)))]),
  }
}

function latency(from: ClientPlace, cases: readonly Case[]): BenchTable {
  return {
    columns: [`client: ${from}`, 'new: waiting p50, µs', 'p99, µs', '8 kept: waiting p50, µs', 'p99, µs'],
    rows: ways.map((way) => [
      titlesByWay.get(way) ?? way,
      ...(['connect', 'kept'] as const).flatMap((kind) => {
        const rounds = roundsOf(cases, kind, way)
        return [rounds.map(({ p50Us }) => p50Us), rounds.map(({ p99Us }) => p99Us)].map((values) =>
          renderSpread(spreadOf(values), 0),
        )
      }),
    ]),
  }
}

function findings(cases: readonly Case[]): readonly string[] {
  const from = cases[0]?.from ?? ''
  const ratio = (kind: RequestKind, read: (measured: Measured) => number, [one, other]: readonly [Way, Way]) => {
    const others = roundsOf(cases, kind, other).map(read)
    const values = roundsOf(cases, kind, one).map(read)
    return spreadOf(values.map((value, round) => value / (others[round] ?? NaN))).median
  }
  const list = (read: (measured: Measured) => number) =>
    kinds
      .map((kind) => `${ratio(kind, read, ['sockets', 'nftables']).toFixed(2)} ${namesByKind.get(kind) ?? kind}`)
      .join(', ')
  // Client and server share a processor: alone on it, they get as much done as their CPU time lets them.
  const ofDirect = (['connect', 'kept'] as const).map((kind) =>
    ratio(kind, ({ cpuUs }) => cpuUs, ['direct', 'sockets']),
  )
  const isMet = ofDirect.every((share) => share >= promisedOfDirect)
  return [
    `Socket balancing : flat nftables from the ${from}, CPU: ${list(({ cpuUs }) => cpuUs)}.`,
    `Socket balancing : flat nftables from the ${from}, requests per second: ${list(({ perSecond }) => perSecond)}.`,
    `At least ${promisedOfDirect} of direct from the ${from}, for new connections and kept requests, by CPU time: ${isMet ? 'met' : '**missed**'} (${ofDirect.map((share) => share.toFixed(2)).join(' and ')}).`,
  ]
}

function roundsOf(cases: readonly Case[], kind: RequestKind, way: Way): readonly Measured[] {
  return cases.find((one) => one.kind === kind && one.way === way)?.rounds ?? []
}

function whole(value: number): string {
  return Math.round(value).toLocaleString('en')
}
