/** The virtual servers of one route: an address of it, and the endpoints that may serve there. */
import type { Entrance, Route } from '../../core/route.ts'
import { endpointsForAll } from '../../core/routing/one-server.ts'
import type { ServerAddress, VirtualServer } from '../../dataplane/ipvs/ipvs.ts'
import { serverFlag, serverKey } from '../../dataplane/ipvs/ipvs.ts'
import { schedulingOf, usualScheduling, weighed } from './scheduling.ts'
import type { WeighedEndpoint } from './scheduling.ts'
import type { IpvsSettings } from './settings.ts'

/** `10.96.0.10:80/TCP`: the kernel has one virtual server for each. */
export type ServerId = string & { readonly brand: 'ServerId' }

export function serverId(address: ServerAddress): ServerId {
  return serverKey(address) as ServerId
}

/** In the order of precedence where two routes want the same: nobody can take a cluster IP by writing it down. */
export const serverKinds: readonly Entrance['kind'][] = ['cluster-ip', 'external-ip', 'load-balancer-ip', 'node-port']

export interface PlannedServer extends VirtualServer {
  readonly id: ServerId
  readonly kind: Entrance['kind']
  /** Its address is on our link. */
  readonly isBound: boolean
  readonly endpoints: readonly WeighedEndpoint[]
}

/** Each address once: one that is listed twice counts as what it was first. */
export function plannedServers(route: Route, settings: IpvsSettings): readonly PlannedServer[] {
  const common = { protocol: route.protocol, ...spread(route, settings) }
  const serversById = new Map<ServerId, PlannedServer>()
  for (const entrance of route.entrances) {
    const { kind, port } = entrance
    const endpoints = weighed(endpointsForAll(entrance, route), common.scheduler)
    for (const ip of entrance.kind === 'node-port' ? settings.nodePortIps : [entrance.ip]) {
      const id = serverId({ ip, port, protocol: route.protocol })
      const isBound = kind === 'cluster-ip' || (kind !== 'node-port' && !settings.nodeIps.has(ip))
      if (!serversById.has(id)) serversById.set(id, { id, ...common, kind, ip, port, isBound, endpoints })
    }
  }
  return [...serversById.values()]
}

/** As if its Service had asked for none. */
export function withUsualScheduler(server: PlannedServer, usual: string): PlannedServer {
  const [first] = server.endpoints
  const isWeighted = server.endpoints.some(({ weight }) => weight !== first?.weight)
  const { scheduler, flags } = usualScheduling(usual, isWeighted)
  return { ...server, scheduler, flags: (server.flags & serverFlag.persistent) | flags }
}

function spread(
  route: Route,
  { scheduler: usual }: IpvsSettings,
): Pick<VirtualServer, 'scheduler' | 'flags' | 'timeoutSeconds'> {
  const { affinitySeconds } = route
  const persistence = affinitySeconds === undefined ? 0 : serverFlag.persistent
  const { scheduler, flags } = schedulingOf(route, usual)
  return { scheduler, flags: persistence | flags, timeoutSeconds: affinitySeconds ?? 0 }
}
