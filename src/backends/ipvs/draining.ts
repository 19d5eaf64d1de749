/**
 * Endpoints that shall go, but still have connections. With weight 0 they get no new ones; they are deleted when the
 * last one has ended. The list is of this process: after a restart the first sync finds them in the kernel again.
 *
 * It is no part of the plan, because it must outlive it. When a sync fails, what is known of the kernel is forgotten and
 * read again. But reading does not tell whether a weight of 0 is ours or an operator's, and only ours may be given back.
 */
import type { Logger } from '../../core/logger.ts'
import type { Ipvs, IpvsOperation, ListedRealServer, ListedServer, ServerAddress } from '../../dataplane/ipvs/ipvs.ts'
import { hostPort } from '../../net/ip.ts'
import { serverId } from './planned-server.ts'
import type { ServerId } from './planned-server.ts'
import type { WeighedEndpoint } from './scheduling.ts'

type DrainingEndpoint = Omit<WeighedEndpoint, 'weight'>

interface DrainingServer {
  readonly server: ServerAddress
  readonly endpointsByAddress: Map<string, DrainingEndpoint>
}

export class Draining {
  readonly #ipvs: Pick<Ipvs, 'realServers' | 'apply'>
  readonly #log: Logger
  readonly #serversById = new Map<ServerId, DrainingServer>()

  constructor({ ipvs, log }: { readonly ipvs: Pick<Ipvs, 'realServers' | 'apply'>; readonly log: Logger }) {
    this.#ipvs = ipvs
    this.#log = log
  }

  get size(): number {
    let size = 0
    for (const { endpointsByAddress } of this.#serversById.values()) size += endpointsByAddress.size
    return size
  }

  has(id: ServerId, address: string): boolean {
    return this.#serversById.get(id)?.endpointsByAddress.has(address) ?? false
  }

  /** Of one server. */
  addressesOf(id: ServerId): readonly string[] {
    return [...(this.#serversById.get(id)?.endpointsByAddress.keys() ?? [])]
  }

  add(server: ServerAddress, endpoint: DrainingEndpoint): void {
    const id = serverId(server)
    const known = this.#serversById.get(id)
    if (known === undefined)
      this.#serversById.set(id, { server, endpointsByAddress: new Map([[endpoint.address, endpoint]]) })
    else known.endpointsByAddress.set(endpoint.address, endpoint)
  }

  forget(id: ServerId, address: string): void {
    const endpoints = this.#serversById.get(id)?.endpointsByAddress
    endpoints?.delete(address)
    if (endpoints?.size === 0) this.#serversById.delete(id)
  }

  /** Forgets those that are not in the kernel any more, or have a weight there. */
  keepFound(servers: readonly ListedServer[]): void {
    if (this.#serversById.size === 0) return
    const foundById = new Map(servers.map((server) => [serverId(server), server.realServers]))
    for (const [id, { endpointsByAddress }] of this.#serversById) {
      const weightless = foundById.get(id)?.filter(({ weight }) => weight === 0)
      const addresses = new Set(weightless?.map(({ ip, port }) => hostPort(ip, port)))
      for (const address of endpointsByAddress.keys()) if (!addresses.has(address)) this.forget(id, address)
    }
  }

  /** Deletes those without connections, of these servers or of all. What fails is tried by the next sweep. */
  async sweep(signal: AbortSignal, ids: Iterable<ServerId> = this.#serversById.keys()): Promise<void> {
    const operations: (IpvsOperation & { kind: 'delete-real-server' })[] = []
    for (const id of ids) {
      const draining = this.#serversById.get(id)
      if (draining === undefined) continue
      try {
        const listed = await this.#ipvs.realServers(draining.server, signal)
        for (const endpoint of this.#idle(id, draining, listed))
          operations.push({ kind: 'delete-real-server', server: draining.server, realServer: endpoint })
      } catch (error) {
        if (signal.aborted) throw error
        this.#log.warn('cannot read the connections of endpoints that are draining', { server: id, error })
      }
    }
    if (operations.length > 0) await this.#delete(operations, signal)
  }

  #idle(id: ServerId, { endpointsByAddress }: DrainingServer, listed: readonly ListedRealServer[]): DrainingEndpoint[] {
    const listedByAddress = new Map(listed.map((real) => [hostPort(real.ip, real.port), real]))
    const idle: DrainingEndpoint[] = []
    for (const [address, endpoint] of endpointsByAddress) {
      const real = listedByAddress.get(address)
      if (real === undefined) this.forget(id, address)
      // Closed connections count: the kernel remembers them in case a late packet comes.
      else if (real.weight === 0 && real.activeConnections + real.inactiveConnections === 0) idle.push(endpoint)
    }
    return idle
  }

  async #delete(
    operations: readonly (IpvsOperation & { kind: 'delete-real-server' })[],
    signal: AbortSignal,
  ): Promise<void> {
    const errors = await this.#ipvs.apply(operations, signal)
    for (const [index, { server, realServer }] of operations.entries()) {
      const error = errors.get(index)
      const address = hostPort(realServer.ip, realServer.port)
      if (error === undefined || error.reason === 'not-found') this.forget(serverId(server), address)
      else this.#log.warn('cannot delete an endpoint without connections', { endpoint: address, error })
    }
  }
}
