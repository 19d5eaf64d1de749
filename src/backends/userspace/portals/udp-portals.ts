/**
 * Which UDP flows are still right. The kernel remembers where the first packet of a flow was led, and a client that
 * keeps sending never asks the rules again; so flows to a port of an earlier process, or of a Service that is gone,
 * have to be deleted.
 */
import type { Endpoint, Route, RouteKey } from '../../../core/route.ts'
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

  /**
   * The routes with the addresses that their flows may lead to in the place of endpoints; undefined when nothing has
   * changed since the last time.
   */
  take(localIps: readonly string[]): readonly Route[] | undefined {
    if (!this.#hasNewPorts && this.#gone.length === 0) return undefined
    const gone = this.#gone.map((route) => withEndpoints(route, [nowhere]))
    const served = [...this.#servedByKey.values()].map(({ route, ports }) =>
      withEndpoints(
        route,
        ports.flatMap(({ ip, port }) => (isUnspecified(ip) ? localIps : [ip]).map((at) => ({ ip: at, port }))),
      ),
    )
    this.#gone = []
    this.#hasNewPorts = false
    return [...gone, ...served]
  }
}

/** No flow leads here, so all are stale. */
const nowhere: SocketAddress = { ip: '', port: 0 }

function withEndpoints(route: Route, addresses: readonly SocketAddress[]): Route {
  return { ...route, endpoints: addresses.map(toEndpoint) }
}

function toEndpoint({ ip, port }: SocketAddress): Endpoint {
  return {
    ip,
    port,
    address: hostPort(ip, port),
    nodeName: '',
    isLocal: true,
    ready: true,
    serving: true,
    terminating: false,
    zoneHints: [],
    nodeHints: [],
  }
}

function textOf(ports: readonly SocketAddress[]): string {
  return ports.map(({ ip, port }) => hostPort(ip, port)).join(' ')
}
