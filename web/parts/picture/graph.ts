/** A Service port as a picture has it: who comes, where to, by which policy, and who answers. No measure and no colour. */
import type { EndpointDetail, EntranceDetail, OutcomeDetail, PortDetail } from '../../../src/observe/console/wire.ts'
import { count, duration, percent, rate, shortNumber } from '../format.ts'

export const columns = ['clients', 'entrances', 'policy', 'endpoints'] as const
export type Column = (typeof columns)[number]

export type Mark = EndpointDetail['state'] | Exclude<OutcomeDetail['does'], 'forward'> | 'more'

export interface PictureNode {
  readonly id: string
  readonly column: Column
  readonly title: string
  /** Below the title, in small letters. */
  readonly lines: readonly string[]
  /** A shape, so that colour never says it alone. */
  readonly mark?: Mark
  /** Nothing comes here, or nothing may answer. */
  readonly isFaint?: true
  /** Addresses line up better in letters of one width. */
  readonly isCode?: true
}

export interface PictureEdge {
  readonly from: string
  readonly to: string
  /** Of new connections of its policy, from 0 to 1; absent: nobody says. */
  readonly share?: number
  /** New connections per second. */
  readonly rate?: number
  /** Some of what the port carries may come this way; the node does not count by client or by address. */
  readonly isOneOfSeveral?: true
  readonly label?: string
  /** What comes this way is turned away. */
  readonly isRefused?: true
}

export interface Graph {
  readonly nodes: readonly PictureNode[]
  readonly edges: readonly PictureEdge[]
}

export interface GraphOptions {
  /** What the Service does that is not the default, in short: `same zone`. */
  readonly remarks?: readonly string[]
  /** More endpoints are folded into one. */
  readonly mostEndpoints?: number
  /** What endpoints are called, by address, where somebody knows it. */
  readonly names?: ReadonlyMap<string, string> | undefined
  /** Those who ask, where they are known: all that comes, comes from them. */
  readonly clients?: { readonly title: string; readonly lines: readonly string[] } | undefined
  /** Where the cluster IP is served in truth, where this machine has no such address. */
  readonly servedAt?: string | undefined
}

const usualMost = 10

export function graphOf(port: PortDetail, options: GraphOptions = {}): Graph {
  const { remarks = [], mostEndpoints = usualMost, names, clients, servedAt } = options
  const ways = port.entrances.flatMap((entrance) => waysThrough(entrance, port, remarks))
  const policies = [...new Map(ways.map(({ policy }) => [policy.node.id, policy])).values()]
  const { shown, folded } = fold(port.endpoints, mostEndpoints)
  const portRate = port.traffic?.connectionRate
  const edges: PictureEdge[] = [
    ...(clients === undefined ? clientEdges(port.entrances, portRate) : knownClientEdges(port.entrances, portRate)),
    ...entranceEdges(ways, portRate),
    ...policies.flatMap((policy) => endpointEdges(policy, policies, shown, folded)),
  ]
  const nodes = [
    ...(clients === undefined
      ? clientNodes(port.entrances)
      : [{ ...clients, id: knownId, column: 'clients' as const }]),
    ...port.entrances.map((entrance) => entranceNode(entrance, servedAt)),
    ...policies.map(({ node }) => node),
    ...shown.map((endpoint) => endpointNode(endpoint, names?.get(endpoint.address))),
    ...(folded.length > 0 ? [foldedNode(folded)] : []),
  ]
  return { nodes, edges }
}

const pods: PictureNode = { id: 'client pods', column: 'clients', title: 'Pods', lines: ['on this node'] }
const host: PictureNode = { id: 'client host', column: 'clients', title: 'This node', lines: ['its programs'] }
const outside: PictureNode = { id: 'client outside', column: 'clients', title: 'Outside', lines: ['other machines'] }

function clientNodes(entrances: readonly EntranceDetail[]): readonly PictureNode[] {
  if (entrances.some(isForOutside)) return [pods, host, outside]
  return [pods, host, { ...outside, lines: ['no way in'], isFaint: true }]
}

/** A cluster IP means something inside the cluster only. */
function isForOutside({ kind }: EntranceDetail): boolean {
  return kind !== 'cluster-ip'
}

function clientEdges(entrances: readonly EntranceDetail[], portRate: number | undefined): readonly PictureEdge[] {
  const some = portRate !== undefined && portRate > 0 ? ({ isOneOfSeveral: true } as const) : {}
  return entrances.flatMap((entrance) => {
    const to = entranceId(entrance)
    const inside = { isRefused: isRefused(entrance.local) }
    const others = { isRefused: isRefused(entrance.outside) }
    return [
      edge({ from: pods.id, to, ...inside }, some),
      edge({ from: host.id, to, ...inside }, some),
      ...(isForOutside(entrance) ? [edge({ from: outside.id, to, ...others }, some)] : []),
    ]
  })
}

const knownId = 'client known'

function knownClientEdges(entrances: readonly EntranceDetail[], portRate: number | undefined): readonly PictureEdge[] {
  const some =
    portRate === undefined ? {} : entrances.length === 1 ? { rate: portRate } : { isOneOfSeveral: true as const }
  return entrances.map((entrance) =>
    edge({ from: knownId, to: entranceId(entrance), isRefused: isRefused(entrance.local) }, some),
  )
}

function edge(
  { from, to, isRefused }: { readonly from: string; readonly to: string; readonly isRefused: boolean },
  some: Pick<PictureEdge, 'isOneOfSeveral' | 'rate'>,
): PictureEdge {
  return isRefused ? { from, to, isRefused } : { from, to, ...some }
}

function isRefused({ does }: OutcomeDetail): boolean {
  return does !== 'forward'
}

const entranceWords: Readonly<Record<EntranceDetail['kind'], string>> = {
  'cluster-ip': 'cluster IP',
  'external-ip': 'external IP',
  'load-balancer-ip': 'load balancer',
  'node-port': 'node port',
}

function entranceId({ kind, address }: EntranceDetail): string {
  return `entrance ${kind} ${address}`
}

function entranceNode(entrance: EntranceDetail, servedAt: string | undefined): PictureNode {
  const { kind, address } = entrance
  const word = entranceWords[kind]
  const where =
    kind === 'node-port'
      ? [`${word}, at this node`]
      : kind === 'cluster-ip' && servedAt !== undefined
        ? [word, `here at ${servedAt}`]
        : [word]
  return { id: entranceId(entrance), column: 'entrances', title: address, lines: where, isCode: true }
}

interface Policy {
  readonly node: PictureNode
  readonly outcome: OutcomeDetail
}

interface Way {
  readonly entrance: EntranceDetail
  readonly policy: Policy
  /** Pods and programs of this node are inside. Where both are treated alike, nobody is named. */
  readonly whose?: 'inside' | 'outside'
}

function waysThrough(entrance: EntranceDetail, port: PortDetail, remarks: readonly string[]): readonly Way[] {
  // Sources are compared where a packet comes from elsewhere; what they may be is said where they matter.
  const inside = policyOf(entrance.local, undefined, port, remarks)
  if (!isForOutside(entrance)) return [{ entrance, policy: inside }]
  const others = policyOf(entrance.outside, entrance.allowed, port, remarks)
  if (inside.node.id === others.node.id) return [{ entrance, policy: inside }]
  return [
    { entrance, policy: inside, whose: 'inside' },
    { entrance, policy: others, whose: 'outside' },
  ]
}

function policyOf(
  outcome: OutcomeDetail,
  allowed: readonly string[] | undefined,
  port: PortDetail,
  remarks: readonly string[],
): Policy {
  const { does, policy, text, to = [] } = outcome
  const only = allowed === undefined ? [] : [`only from ${inShort(allowed)}`]
  const id = ['policy', does, policy, ...to, ...(allowed ?? [])].join(' ')
  if (does !== 'forward')
    return { outcome, node: { id, column: 'policy', title: refusals[does], lines: [...only, text], mark: does } }
  const whom = policy === 'Local' ? 'endpoints of this node' : `one of ${count(to.length, 'endpoint')}`
  const { affinitySeconds } = port
  const affinity = affinitySeconds === undefined ? [] : [`affinity, ${duration(affinitySeconds * 1000)}`]
  // Hints choose among the endpoints of all nodes.
  const lines = [whom, ...(policy === 'Cluster' ? remarks : []), ...affinity, ...only]
  return { outcome, node: { id, column: 'policy', title: policy, lines } }
}

const refusals = { reject: 'Rejected', drop: 'Dropped', untouched: 'Not touched' } as const

function inShort(list: readonly string[]): string {
  if (list.length === 0) return 'nobody'
  const more = list.length - 2
  return `${list.slice(0, 2).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

function entranceEdges(ways: readonly Way[], portRate: number | undefined): readonly PictureEdge[] {
  const forwarding = ways.filter(({ policy }) => !isRefused(policy.outcome))
  const flow: Pick<PictureEdge, 'isOneOfSeveral' | 'rate'> =
    portRate === undefined
      ? {}
      : forwarding.length === 1
        ? { rate: portRate }
        : portRate > 0
          ? { isOneOfSeveral: true }
          : {}
  // Said once at each policy: edges that arrive side by side leave no room for more.
  const told = new Set<string>()
  return ways.map(({ entrance, policy, whose }) => {
    const ends = { from: entranceId(entrance), to: policy.node.id, isRefused: isRefused(policy.outcome) }
    const label = [whose, ...(flow.rate === undefined || ends.isRefused ? [] : [rate(flow.rate)])].filter(Boolean)
    const text = label.join(' ')
    const isNew = text !== '' && !told.has(`${ends.to} ${text}`)
    told.add(`${ends.to} ${text}`)
    return { ...edge(ends, flow), ...(isNew && { label: text }) }
  })
}

/** The ones that are used come first, else they stay where they are: a picture that jumps cannot be read. */
function fold(
  endpoints: readonly EndpointDetail[],
  most: number,
): { readonly shown: readonly EndpointDetail[]; readonly folded: readonly EndpointDetail[] } {
  const sorted = [...endpoints.filter(isUsed), ...endpoints.filter((endpoint) => !isUsed(endpoint))]
  // One that is folded takes as much room as one that is not.
  return sorted.length <= most + 1
    ? { shown: sorted, folded: [] }
    : { shown: sorted.slice(0, most), folded: sorted.slice(most) }
}

function isUsed({ share, whyNot }: EndpointDetail): boolean {
  return share !== undefined || whyNot === undefined
}

function endpointId({ address }: EndpointDetail): string {
  return `endpoint ${address}`
}

function endpointNode(endpoint: EndpointDetail, name: string | undefined): PictureNode {
  const { address, node, zone, isLocal, state, whyNot, traffic } = endpoint
  const place = [isLocal === true ? 'this node' : node, zone].filter(Boolean).join(', ')
  const open = traffic?.open === undefined ? '' : `${shortNumber(traffic.open)} open`
  const doing = [state, open].filter(Boolean).join(', ')
  return {
    id: endpointId(endpoint),
    column: 'endpoints',
    title: name ?? address,
    lines: [
      ...(name === undefined ? [] : [address]),
      doing,
      ...(whyNot === undefined || whyNot === state ? [] : [whyNot]),
      ...(place === '' ? [] : [place]),
    ],
    mark: state,
    ...(name === undefined && { isCode: true as const }),
    ...(!isUsed(endpoint) && { isFaint: true }),
  }
}

const foldedId = 'endpoint more'

function foldedNode(folded: readonly EndpointDetail[]): PictureNode {
  const used = folded.filter(isUsed).length
  const line = used === folded.length ? 'all of them may answer' : `${wordOf(used)} of them may answer`
  return {
    id: foldedId,
    column: 'endpoints',
    title: `and ${folded.length} more`,
    lines: [line],
    mark: 'more',
    ...(used === 0 && { isFaint: true }),
  }
}

function wordOf(value: number): string {
  return value === 0 ? 'none' : String(value)
}

function endpointEdges(
  { node, outcome }: Policy,
  all: readonly Policy[],
  shown: readonly EndpointDetail[],
  folded: readonly EndpointDetail[],
): readonly PictureEdge[] {
  if (isRefused(outcome)) return []
  const to = new Set(outcome.to)
  // An endpoint that several policies lead to is counted once: whose connection it was, nobody knows.
  const leadingTo = ({ address }: EndpointDetail) => all.filter((one) => one.outcome.to?.includes(address) === true)
  const placeAmong = (endpoints: readonly EndpointDetail[]): Place => ({
    isOnly: endpoints.every((endpoint) => leadingTo(endpoint).length === 1),
    isFirst: endpoints.some((endpoint) => leadingTo(endpoint)[0]?.node.id === node.id),
  })
  const edges = shown
    .filter(({ address }) => to.has(address))
    .map((endpoint) => toEndpoint(node.id, endpointId(endpoint), [endpoint], placeAmong([endpoint])))
  const rest = folded.filter(({ address }) => to.has(address))
  return rest.length === 0 ? edges : [...edges, toEndpoint(node.id, foldedId, rest, placeAmong(rest))]
}

/** Of a policy among those that lead to an endpoint. The first one has the label. */
interface Place {
  readonly isOnly: boolean
  readonly isFirst: boolean
}

function toEndpoint(
  from: string,
  to: string,
  endpoints: readonly EndpointDetail[],
  { isOnly, isFirst }: Place,
): PictureEdge {
  const share = sum(endpoints.map((one) => one.share))
  const perSecond = sum(endpoints.map((one) => one.traffic?.connectionRate))
  const label = [
    ...(share === undefined ? [] : [percent(share)]),
    ...(perSecond === undefined ? [] : [rate(perSecond)]),
  ].join(' · ')
  return {
    from,
    to,
    ...(share !== undefined && { share }),
    ...(perSecond !== undefined &&
      (isOnly ? { rate: perSecond } : perSecond > 0 ? { isOneOfSeveral: true as const } : {})),
    ...(isFirst && label !== '' && { label }),
  }
}

/** Of those that are known; undefined where none is. */
function sum(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined)
  return known.length === 0 ? undefined : known.reduce((a, b) => a + b, 0)
}
