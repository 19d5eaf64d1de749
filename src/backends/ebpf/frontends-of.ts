/**
 * What the hooks at the sockets know of one Service port: where clients ask for it, and who may serve them. Whatever a hook
 * cannot do exactly is left to the packets, with the reason.
 */
import { routeName } from '../../core/route.ts'
import type { Entrance, Outcome, Route, RouteKey } from '../../core/route.ts'
import { familyOf } from '../../net/ip.ts'
import type { Family } from '../../net/ip.ts'
import { listBits, longestList } from './layout.ts'
import type { Frontend, ListName } from './layout.ts'

export const listNames = ['internal', 'external'] as const satisfies readonly ListName[]

/** Names a frontend within its family: `10.96.10.10 tcp 80`, or `node-port tcp 30080`. */
export type FrontendId = string & { readonly brand: 'FrontendId' }

export interface PlannedFrontend {
  readonly id: FrontendId
  readonly frontend: Frontend
  readonly list: ListName
}

/** What a client gets. Every client of a hook is on this node, so these are the outcomes for clients inside. */
export type PlannedList =
  /** `ip:port` of each, as in `Endpoint.address`. */
  | { readonly kind: 'endpoints'; readonly addresses: readonly string[] }
  /** `refuse`: nobody can serve, and a TCP client is told at once. `pass`: the packets decide. */
  | { readonly kind: 'refuse' | 'pass' }

export interface PlannedEndpoint {
  readonly address: string
  readonly ip: string
  readonly port: number
  /** Bits of the lists that new clients may get it from. None: only who has it already may go on with it. */
  readonly lists: number
}

interface LeftToPackets {
  readonly id: FrontendId
  readonly why: string
}

export interface SocketRoute {
  readonly key: RouteKey
  readonly name: string
  readonly family: Family
  readonly protocol: Route['protocol']
  readonly frontends: readonly PlannedFrontend[]
  readonly leftToPackets: readonly LeftToPackets[]
  readonly lists: Readonly<Record<ListName, PlannedList>>
  readonly endpoints: readonly PlannedEndpoint[]
  /** 0: no affinity. */
  readonly affinitySeconds: number
  readonly roundRobin: boolean
  /** Endpoints that have no place in a list. */
  readonly tooMany: number
}

export function socketRoute(route: Route, isOfThisNode: (ip: string) => boolean): SocketRoute {
  const { key, family, protocol, internal, external, affinitySeconds, sockets } = route
  const lists = { internal: listOf(internal.inside), external: listOf(external?.inside) }
  return {
    key,
    name: routeName(route),
    family,
    protocol,
    ...splitEntrances(route, isOfThisNode),
    lists,
    endpoints: endpointsOf(route, lists),
    affinitySeconds: affinitySeconds ?? 0,
    roundRobin: sockets?.algorithm === 'round-robin',
    tooMany: Math.max(0, route.clusterEndpoints.length - longestList),
  }
}

export function frontendId(frontend: Frontend): FrontendId {
  const where = frontend.scope === 'address' ? frontend.ip : 'node-port'
  return `${where} ${frontend.protocol.toLowerCase()} ${frontend.port}` as FrontendId
}

export function familyOfFrontend(frontend: Frontend): Family {
  return frontend.scope === 'address' ? familyOf(frontend.ip) : frontend.family
}

function splitEntrances(
  { family, protocol, entrances, sockets }: Route,
  isOfThisNode: (ip: string) => boolean,
): Pick<SocketRoute, 'frontends' | 'leftToPackets'> {
  const frontends = new Map<FrontendId, PlannedFrontend>()
  const leftToPackets = new Map<FrontendId, LeftToPackets>()
  for (const entrance of entrances) {
    const { port } = entrance
    // SCTP has no frontend, but a name.
    const named = { port, protocol: protocol as Frontend['protocol'] }
    const frontend: Frontend =
      entrance.kind === 'node-port'
        ? { scope: 'node-port', family, ...named }
        : { scope: 'address', ip: entrance.ip, ...named }
    const id = frontendId(frontend)
    // The first entrance counts where a Service names an address twice.
    if (frontends.has(id) || leftToPackets.has(id)) continue
    const why =
      protocol === 'SCTP'
        ? 'SCTP'
        : sockets?.balancing === 'off'
          ? 'the Service wants it so'
          : whyLeft(entrance, entrances, isOfThisNode)
    if (why !== undefined) leftToPackets.set(id, { id, why })
    else frontends.set(id, { id, frontend, list: entrance.kind === 'cluster-ip' ? 'internal' : 'external' })
  }
  return { frontends: [...frontends.values()], leftToPackets: [...leftToPackets.values()] }
}

function whyLeft(
  entrance: Entrance,
  all: readonly Entrance[],
  isOfThisNode: (ip: string) => boolean,
): string | undefined {
  // A socket that connects has no source address yet. A cluster IP is restricted, too, if it is a load balancer's as well.
  if (all.some((other) => isAtSame(entrance, other) && other.allowed !== undefined)) return 'source ranges'
  // A cache of DNS answers on the node listens at the cluster IP of DNS, and shall be reached.
  if (entrance.kind === 'cluster-ip' && isOfThisNode(entrance.ip)) return 'this node has the address'
  return undefined
}

function isAtSame(one: Entrance, other: Entrance): boolean {
  return one.port === other.port && ('ip' in one && one.ip) === ('ip' in other && other.ip)
}

function listOf(outcome: Outcome | undefined): PlannedList {
  switch (outcome?.kind) {
    case 'forward':
      return { kind: 'endpoints', addresses: outcome.to.slice(0, longestList).map(({ address }) => address) }
    case 'reject':
      return refuse
    case 'drop': // A dropped packet is sent again and may get through; a hook cannot wait.
    case undefined:
      return pass
    default:
      return outcome satisfies never
  }
}

const refuse: PlannedList = { kind: 'refuse' }
const pass: PlannedList = { kind: 'pass' }

/** Those of the lists, and those that still serve: datagrams that go there may go on, whatever policy and topology say now. */
function endpointsOf({ endpoints }: Route, lists: SocketRoute['lists']): readonly PlannedEndpoint[] {
  const [internal, external] = listNames.map((name) => {
    const list = lists[name]
    return new Set(list.kind === 'endpoints' ? list.addresses : [])
  })
  return endpoints.flatMap(({ address, ip, port, serving }) => {
    const bits =
      (internal?.has(address) === true ? listBits.internal : 0) |
      (external?.has(address) === true ? listBits.external : 0)
    return bits !== 0 || serving ? [{ address, ip, port, lists: bits }] : []
  })
}
