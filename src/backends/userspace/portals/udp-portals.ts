/**
 * Which UDP flows are still right. The kernel remembers where the first packet of a flow was led, and a client that
 * keeps sending never asks the rules again; so flows to a port of an earlier process, or of a Service that is gone,
 * have to be deleted.
 */
import type { Route, RouteKey } from '../../../core/route.ts'
import type { FlowTargets } from '../../../core/sync/stale-flows.ts'
import { hostPort, isUnspecified } from '../../../net/ip.ts'
import type { SocketAddress } from '../../../dataplane/relay/relay.ts'

interface Served {
  readonly route: Route
  readonly ports: readonly SocketAddress[]
}

export class UdpPortals {
  readonly #servedByKey = new Map<RouteKey, Served>()
  /** Routes that are gone, or whose ports are. */
  #gone: Route[] = []
  #hasNewPorts = false

  note(route: Route, ports: readonly SocketAddress[]): void {
    const before = this.#servedByKey.get(route.key)
    if (before === undefined || textOf(before.ports) !== textOf(ports)) this.#hasNewPorts = true
    this.#servedByKey.set(route.key, { route, ports })
  }

  forget(key: RouteKey): void {
    const before = this.#servedByKey.get(key)
    if (before === undefined) return
    this.#servedByKey.delete(key)
    this.#gone.push(before.route)
  }

  /** Undefined when nothing has changed since the last time. */
  take(localIps: readonly string[]): readonly FlowTargets[] | undefined {
    if (!this.#hasNewPorts && this.#gone.length === 0) return undefined
    const gone = this.#gone.map(({ entrances }): FlowTargets => ({ entrances, addresses: new Set() }))
    const served = [...this.#servedByKey.values()].map(({ route, ports }): FlowTargets => ({
      entrances: route.entrances,
      addresses: new Set(
        ports.flatMap(({ ip, port }) => (isUnspecified(ip) ? localIps : [ip]).map((at) => hostPort(at, port))),
      ),
    }))
    this.#gone = []
    this.#hasNewPorts = false
    return [...gone, ...served]
  }
}

function textOf(ports: readonly SocketAddress[]): string {
  return ports.map(({ ip, port }) => hostPort(ip, port)).join(' ')
}
