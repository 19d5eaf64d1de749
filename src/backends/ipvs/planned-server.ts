/** The virtual servers of one route: an address of it, and the endpoints that may serve there. */
import type { TrafficPolicy } from '../../api/records.ts'
import type { Endpoint, Route } from '../../core/route.ts'
import type { ServerAddress, VirtualServer } from '../../dataplane/ipvs/ipvs.ts'
import { serverFlag, serverKey } from '../../dataplane/ipvs/ipvs.ts'
import type { IpvsSettings } from './settings.ts'

/** `10.96.0.10:80/TCP`: the kernel has one virtual server for each. */
export type ServerId = string & { readonly brand: 'ServerId' }

export function serverId(address: ServerAddress): ServerId {
  return serverKey(address) as ServerId
}

/** In the order of precedence where two routes want the same: nobody can take a cluster IP by writing it down. */
export const serverKinds = ['cluster-ip', 'external-ip', 'load-balancer-ip', 'node-port'] as const

export interface PlannedServer extends VirtualServer {
  readonly id: ServerId
  readonly kind: (typeof serverKinds)[number]
  /** Its address is on our link. */
  readonly isBound: boolean
  readonly endpoints: readonly Pick<Endpoint, 'ip' | 'port' | 'address'>[]
}

/** Each address once: one that is listed twice counts as what it was first. */
export function plannedServers(route: Route, settings: IpvsSettings): readonly PlannedServer[] {
  const { port, nodePort, externalPolicy } = route
  const { nodeIps, nodePortIps } = settings
  const internal = endpointsFor(route, route.internalPolicy)
  const external = endpointsFor(route, externalPolicy)
  const common = { protocol: route.protocol, ...spread(route, settings) }
  const serversById = new Map<ServerId, PlannedServer>()
  const add = (server: Omit<PlannedServer, 'id'>) => {
    const id = serverId(server)
    if (!serversById.has(id)) serversById.set(id, { id, ...server })
  }
  add({ ...common, kind: 'cluster-ip', ip: route.clusterIP, port, isBound: true, endpoints: internal })
  for (const ip of route.externalIPs)
    add({ ...common, kind: 'external-ip', ip, port, isBound: !nodeIps.has(ip), endpoints: external })
  for (const ip of route.loadBalancerIPs)
    add({ ...common, kind: 'load-balancer-ip', ip, port, isBound: !nodeIps.has(ip), endpoints: external })
  if (nodePort !== 0)
    for (const ip of nodePortIps)
      add({ ...common, kind: 'node-port', ip, port: nodePort, isBound: false, endpoints: external })
  return [...serversById.values()]
}

/**
 * With policy Local and nothing on this node, endpoints elsewhere serve. They see the client's own address and answer
 * it directly, so that only pods of the cluster have use of it; kube-proxy does the same.
 */
function endpointsFor(route: Route, policy: TrafficPolicy): readonly Endpoint[] {
  return policy === 'Local' && route.localEndpoints.length > 0 ? route.localEndpoints : route.clusterEndpoints
}

function spread(
  { affinitySeconds }: Route,
  { scheduler }: IpvsSettings,
): Pick<VirtualServer, 'scheduler' | 'flags' | 'timeoutSeconds'> {
  const persistence = affinitySeconds > 0 ? serverFlag.persistent : 0
  // Clients behind one address (a NAT gateway) would otherwise all meet the same endpoint.
  const hashesPort = scheduler === 'mh' ? serverFlag.scheduler2 : 0
  return { scheduler, flags: persistence | hashesPort, timeoutSeconds: affinitySeconds }
}
