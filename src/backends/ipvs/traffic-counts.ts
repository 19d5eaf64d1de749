/**
 * What the virtual and real servers have carried. The kernel counts for each of them, and forgets with the server. A
 * server seldom goes while its Service stays, so what was read last is kept then: what came after it is lost.
 */
import type { NodeView } from '../../core/backend.ts'
import { KeptTraffic } from '../../core/kept-traffic.ts'
import type { RouteKey } from '../../core/route.ts'
import { addTraffic, withoutOpen } from '../../core/traffic.ts'
import type { RouteTraffic, Traffic } from '../../core/traffic.ts'
import type { CountedServer, Ipvs } from '../../dataplane/ipvs/ipvs.ts'
import { hostPort } from '../../net/ip.ts'
import { serverId } from './planned-server.ts'
import type { ServerId } from './planned-server.ts'

interface Counted {
  readonly key: RouteKey
  readonly traffic: RouteTraffic
}

export class TrafficCounts {
  readonly #ipvs: Pick<Ipvs, 'counters'>
  readonly #kept = new KeptTraffic()
  #last = new Map<ServerId, Counted>()

  constructor(ipvs: Pick<Ipvs, 'counters'>) {
    this.#ipvs = ipvs
  }

  async read(
    ownerOf: (id: ServerId) => RouteKey | undefined,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<RouteKey, RouteTraffic>> {
    const now = new Map<ServerId, Counted>()
    for (const server of await this.#ipvs.counters(signal)) {
      const id = serverId(server)
      const key = ownerOf(id)
      if (key !== undefined) now.set(id, { key, traffic: trafficOf(server) })
    }
    for (const [id, last] of this.#last) this.#keepLost(last, now.get(id))
    this.#last = now
    const sums = new Map<RouteKey, RouteTraffic>()
    for (const { key, traffic } of now.values()) sums.set(key, addTraffic(sums.get(key), traffic))
    return this.#kept.addTo(sums)
  }

  /** What is gone from the routes that were synced. */
  forget(keys: readonly RouteKey[], view: NodeView): void {
    this.#kept.forget(keys, view)
    const gone = new Set(keys.filter((key) => !view.routesByKey.has(key)))
    if (gone.size > 0) for (const [id, { key }] of this.#last) if (gone.has(key)) this.#last.delete(id)
  }

  #keepLost({ key, traffic }: Counted, now: Counted | undefined): void {
    const { endpoints = new Map<string, Traffic>(), ...server } = withoutOpen(traffic)
    const lost = [...endpoints].filter(([address, one]) => isLost(one, now?.traffic.endpoints?.get(address)))
    const isServerLost = isLost(server, now?.traffic)
    if (!isServerLost && lost.length === 0) return
    this.#kept.keep(new Map([[key, { ...(isServerLost && server), endpoints: new Map(lost) }]]))
  }
}

/** A counter that has fallen began anew. */
function isLost({ connections = 0 }: Traffic, now: Traffic | undefined): boolean {
  return connections > 0 && (now?.connections ?? -1) < connections
}

function trafficOf({ protocol, connections, bytesIn, bytesOut, realServers }: CountedServer): RouteTraffic {
  const endpoints = new Map<string, Traffic>()
  let open = 0
  for (const real of realServers) {
    // The kernel calls every UDP flow inactive.
    const openHere = real.activeConnections + (protocol === 'UDP' ? real.inactiveConnections : 0)
    open += openHere
    endpoints.set(hostPort(real.ip, real.port), {
      connections: real.connections,
      open: openHere,
      bytesIn: real.bytesIn,
      bytesOut: real.bytesOut,
    })
  }
  return { connections, open, bytesIn, bytesOut, endpoints }
}
