/** What clients on the node notice: new connections, requests over kept ones, and datagrams. */
import type { BenchOptions, BenchSection, BenchTable } from '../bench-group.ts'
import type { ProxyProgram } from '../daemon/proxy-program.ts'
import { renderSpread, spreadOf } from '../statistics.ts'
import { KubeProxySite } from './kube-proxy-site.ts'
import type { ClientPlace, Measured, RequestKind } from './node-and-pods.ts'
import { TrafficSite } from './traffic-site.ts'
import type { Request, Way } from './traffic-site.ts'

const usualServices = 10_000
const sliceMs = 300
const roundsPerRun = 3
/** Of what a client gets who asks the endpoint itself, for new connections and kept requests. */
const promisedOfDirect = 0.97

const places: readonly ClientPlace[] = ['pod', 'host']
const titlesByWay: ReadonlyMap<Way, string> = new Map([
  ['direct', 'direct to the endpoint'],
  ['sockets', 'socket balancing'],
  ['untracked', 'socket balancing, not tracked'],
  ['nftables', 'flat nftables'],
  ['kube-proxy', 'kube-proxy, nftables'],
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
const kinds = [...titlesByKind.keys()]
const connections: readonly RequestKind[] = ['connect', 'kept']

interface Case extends Request {
  readonly rounds: Measured[]
}

export async function traffic(
  rival: ProxyProgram | undefined,
  { runs, services = usualServices, progress }: BenchOptions,
): Promise<BenchSection> {
  progress('filling the tables of the nodes')
  await using site = await TrafficSite.open(services)
  await using rivalSite = rival && (await KubeProxySite.open(rival, services))
  const ways = [...titlesByWay.keys()].filter((way) => way !== 'kube-proxy' || rivalSite !== undefined)
  const waysOf = (from: ClientPlace, kind: RequestKind) =>
    ways.filter((way) => {
      // The objects of kube-proxy's Services have no UDP, and the node is no pod.
      if (way === 'kube-proxy') return connections.includes(kind)
      return way !== 'untracked' || from === 'pod'
    })
  // Those of a set are compared with each other.
  const sets = places.flatMap((from) =>
    kinds.map((kind) => waysOf(from, kind).map((way): Case => ({ from, kind, way, rounds: [] }))),
  )
  const cases = sets.flat()
  const rounds = runs * roundsPerRun
  // The first round warms up. Cases that are compared follow each other, and each comes first as often as the others.
  for (let round = 0; round <= rounds; round++) {
    progress(`traffic, round ${round} of ${rounds}`)
    for (const set of sets)
      for (let turn = 0; turn < set.length; turn++) {
        const one = set[(round + turn) % set.length] as Case
        const measured = await (one.way === 'kube-proxy' ? rivalSite : site)?.measure(one, sliceMs)
        if (round > 0 && measured !== undefined) one.rounds.push(measured)
      }
  }
  return {
    title: `Clients on the node, with ${services.toLocaleString('en')} Services`,
    about: about(rounds, rivalSite !== undefined),
    tables: places.flatMap((from) => {
      const ofPlace = cases.filter((one) => one.from === from)
      return [rates(from, ofPlace), cpu(from, ofPlace), latency(from, ofPlace)]
    }),
    findings: places.flatMap((from) => findings(cases.filter((one) => one.from === from))),
  }
}

function about(rounds: number, hasRival: boolean): string {
  return [
    'A pod with clients, the node, and a pod with the 4 endpoints of one Service each have a network namespace, joined by veth pairs; the',
    'node has the tables for sockets and for packets. Clients in the cgroup of the hooks use the first, those outside of it the',
    'second; the bench checks that by the counters. A new connection is one byte there and back, and a reset; kept requests and',
    'datagrams are 64 bytes there and back on 8 sockets at a time. Client and server are one thread each and share one processor;',
    'CPU is that of both, which other work on the machine touches less than the rate. Waiting is for one new connection, or for the',
    'answers on 8 kept ones. Every case passes conntrack on the node, except where it says "not tracked": there the chain of',
    '`--ebpf-untracked-pods` comes first, which docs/ebpf.md describes together with what it breaks.',
    ...(hasRival
      ? [
          'kube-proxy has a node, pods and endpoints of its own, with as many Services, and without UDP. It has ended meanwhile.',
        ]
      : []),
    'Cases take turns,',
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
    rows: measuredWays(cases).map((way) => [
      titlesByWay.get(way) ?? way,
      ...kinds.map((kind) => {
        const rounds = roundsOf(cases, kind, way)
        return rounds.length === 0 ? '' : show(rounds)
      }),
    ]),
  }
}

function measuredWays(cases: readonly Case[]): readonly Way[] {
  return [...new Set(cases.map(({ way }) => way))]
}

function latency(from: ClientPlace, cases: readonly Case[]): BenchTable {
  return {
    columns: [`client: ${from}`, 'new: waiting p50, µs', 'p99, µs', '8 kept: waiting p50, µs', 'p99, µs'],
    rows: measuredWays(cases).map((way) => [
      titlesByWay.get(way) ?? way,
      ...connections.flatMap((kind) => {
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
  const [cpuUs, perSecond] = [(one: Measured) => one.cpuUs, (one: Measured) => one.perSecond]
  const list = (of: readonly RequestKind[], read: (measured: Measured) => number, pair: readonly [Way, Way]) =>
    of.map((kind) => `${ratio(kind, read, pair).toFixed(2)} ${namesByKind.get(kind) ?? kind}`).join(', ')
  // Client and server share a processor: alone on it, they get as much done as their CPU time lets them.
  const ofDirect = connections.map((kind) => ratio(kind, cpuUs, ['direct', 'sockets']))
  const isMet = ofDirect.every((share) => share >= promisedOfDirect)
  const hasRival = measuredWays(cases).includes('kube-proxy')
  return [
    `Socket balancing : flat nftables from the ${from}, CPU: ${list(kinds, cpuUs, ['sockets', 'nftables'])}.`,
    `Socket balancing : flat nftables from the ${from}, requests per second: ${list(kinds, perSecond, ['sockets', 'nftables'])}.`,
    ...(hasRival
      ? [
          `Socket balancing : kube-proxy from the ${from}: CPU ${list(connections, cpuUs, ['sockets', 'kube-proxy'])}; requests per second ${list(connections, perSecond, ['sockets', 'kube-proxy'])}.`,
        ]
      : []),
    ...(measuredWays(cases).includes('untracked')
      ? [
          `Not tracked : tracked, socket balancing from the ${from}: CPU ${list(kinds, cpuUs, ['untracked', 'sockets'])}; requests per second ${list(kinds, perSecond, ['untracked', 'sockets'])}.`,
        ]
      : []),
    `At least ${promisedOfDirect} of direct from the ${from}, for new connections and kept requests, by CPU time: ${isMet ? 'met' : '**missed**'} (${ofDirect.map((share) => share.toFixed(2)).join(' and ')}).`,
  ]
}

function roundsOf(cases: readonly Case[], kind: RequestKind, way: Way): readonly Measured[] {
  return cases.find((one) => one.kind === kind && one.way === way)?.rounds ?? []
}

function whole(value: number): string {
  return Math.round(value).toLocaleString('en')
}
