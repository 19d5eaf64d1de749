/**
 * What sockets that remember an endpoint want to know of it, from what all families have programmed. Each answer is worked out when
 * somebody asks: hardly ever does anybody.
 */
import { familyOf, hostPort, isLoopback, isUnspecified } from '../../net/ip.ts'
import type { Family } from '../../net/ip.ts'
import { frontendId } from './frontends-of.ts'
import type { FrontendId, SocketRoute } from './frontends-of.ts'
import type { StaleReport } from './layout.ts'
import type { SocketPlan } from './plan.ts'

type Connection = Pick<StaleReport, 'protocol' | 'ip' | 'port' | 'asked'>

export interface WhoServes {
  /** Some endpoint of the service with this index serves, whoever may use it; or it is no Service's any more, so none ever will. */
  isServed(index: number): boolean
  /** Those whose endpoint has left the Service that they asked for. If nobody is there any more: that has left all Services. */
  left<C extends Connection>(connections: readonly C[]): ReadonlySet<C>
}

/**
 * `areAll`: these are the plans of all families. Before that nobody knows what another one has.
 *
 * Endpoints have records as long as they serve, also where policy and topology give them to nobody new. A service that is no route's any
 * more was renamed, removed or left to the packets.
 */
export function whoServes(plans: Iterable<SocketPlan>, areAll: boolean): WhoServes {
  const all = [...plans]
  const routes = all.map(({ routesByKey }) => routesByKey)
  let indexes: ReturnType<typeof indexesOf> | undefined
  return {
    isServed(index) {
      const { served, unserved } = (indexes ??= indexesOf(routes))
      return served.has(index) || (areAll && !unserved.has(index))
    },
    left(connections) {
      if (!areAll || connections.length === 0) return new Set()
      const places = new Places(connections, (ip) => all.some(({ node }) => node.nodePortIps.has(ip)))
      for (const routesByKey of routes) for (const { route } of routesByKey.values()) places.note(route)
      return new Set(connections.filter((connection) => places.hasLeft(connection)))
    },
  }
}

function indexesOf(routes: readonly SocketPlan['routesByKey'][]) {
  const [served, unserved] = [new Set<number>(), new Set<number>()]
  for (const routesByKey of routes)
    for (const { held } of routesByKey.values())
      if (held !== undefined) (held.recordsByAddress.size > 0 ? served : unserved).add(held.index)
  return { served, unserved }
}

/** What some connections want to know of all routes: there are few of the one and many of the other. */
class Places {
  /** Undefined: no Service has been seen there. */
  readonly #routes: Record<Family, Map<FrontendId, SocketRoute | undefined>> = { ipv4: new Map(), ipv6: new Map() }
  /** False: no Service port has been seen that has it. */
  readonly #endpoints: Record<Connection['protocol'], Map<string, boolean>> = { TCP: new Map(), UDP: new Map() }

  readonly #isNodePortIp: (ip: string) => boolean

  constructor(connections: readonly Connection[], isNodePortIp: (ip: string) => boolean) {
    this.#isNodePortIp = isNodePortIp
    for (const connection of connections) {
      for (const id of this.#frontendsOf(connection)) this.#routes[familyOf(connection.asked.ip)].set(id, undefined)
      this.#endpoints[connection.protocol].set(endpointOf(connection), false)
    }
  }

  note(route: SocketRoute): void {
    const { family, protocol, frontends, leftToPackets, endpoints } = route
    if (protocol === 'SCTP') return
    for (const entrances of [frontends, leftToPackets])
      for (const { id } of entrances) if (this.#routes[family].has(id)) this.#routes[family].set(id, route)
    for (const { address } of endpoints)
      if (this.#endpoints[protocol].has(address)) this.#endpoints[protocol].set(address, true)
  }

  hasLeft(connection: Connection): boolean {
    const endpoint = endpointOf(connection)
    for (const id of this.#frontendsOf(connection)) {
      const route = this.#routes[familyOf(connection.asked.ip)].get(id)
      if (route !== undefined) return !route.endpoints.some(({ address }) => address === endpoint)
    }
    return this.#endpoints[connection.protocol].get(endpoint) === false
  }

  /** As the programs look it up: as an address, then as a node port, which only addresses of this node have. */
  #frontendsOf({ asked: { ip, port }, protocol }: Connection): readonly FrontendId[] {
    const atAddress = frontendId({ scope: 'address', ip, port, protocol })
    if (!isLoopback(ip) && !isUnspecified(ip) && !this.#isNodePortIp(ip)) return [atAddress]
    return [atAddress, frontendId({ scope: 'node-port', family: familyOf(ip), port, protocol })]
  }
}

function endpointOf({ ip, port }: Connection): string {
  return hostPort(ip, port)
}
