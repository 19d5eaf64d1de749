/** The virtual servers of one route: an address of it, and the endpoints that may serve there. */
import type { Endpoint, Entrance, Route } from '../../core/route.ts'
import { endpointsForAll } from '../../core/routing/one-server.ts'
import type { ServerAddress, VirtualServer } from '../../dataplane/ipvs/ipvs.ts'
import { serverFlag, serverKey } from '../../dataplane/ipvs/ipvs.ts'
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
  readonly endpoints: readonly Pick<Endpoint, 'ip' | 'port' | 'address'>[]
}

/** Each address once: one that is listed twice counts as what it was first. */
export function plannedServers(route: Route, settings: IpvsSettings): readonly PlannedServer[] {
  const common = { protocol: route.protocol, ...spread(route, settings) }
  const serversById = new Map<ServerId, PlannedServer>()
  for (const entrance of route.entrances) {
    const { kind, port } = entrance
    const endpoints = endpointsForAll(entrance, route)
    for (const ip of entrance.kind === 'node-port' ? settings.nodePortIps : [entrance.ip]) {
      const id = serverId({ ip, port, protocol: route.protocol })
      const isBound = kind === 'cluster-ip' || (kind !== 'node-port' && !settings.nodeIps.has(ip))
      if (!serversById.has(id)) serversById.set(id, { id, ...common, kind, ip, port, isBound, endpoints })
    }
  }
  return [...serversById.values()]
}

function spread(
  { affinitySeconds }: Route,
  { scheduler }: IpvsSettings,
): Pick<VirtualServer, 'scheduler' | 'flags' | 'timeoutSeconds'> {
  const persistence = affinitySeconds === undefined ? 0 : serverFlag.persistent
  // Clients behind one address (a NAT gateway) would otherwise all meet the same endpoint.
  const hashesPort = scheduler === 'mh' ? serverFlag.scheduler2 : 0
  return { scheduler, flags: persistence | hashesPort, timeoutSeconds: affinitySeconds ?? 0 }
}
