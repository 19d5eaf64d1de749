/** A load balancer that exists only in memory, and refuses what the kernel refuses. */
import { familyOf, hostPort } from '../../net/ip.ts'
import { IpvsError, serverKey } from './ipvs.ts'
import type {
  CountedServer,
  Ipvs,
  IpvsOperation,
  IpvsTimeouts,
  ListedRealServer,
  ListedServer,
  RealServer,
  ServerAddress,
  ServerCounters,
  VirtualServer,
} from './ipvs.ts'
import { controlCharacterRefusal, describeOperation, refusal } from './operation-errors.ts'

interface Entry {
  server: VirtualServer
  counters: ServerCounters
  readonly countersByAddress: Map<string, ServerCounters>
  readonly realServersByAddress: Map<string, ListedRealServer>
}

const kernelSchedulers = ['rr', 'wrr', 'lc', 'wlc', 'fo', 'ovf', 'lblc', 'lblcr', 'dh', 'sh', 'mh', 'sed', 'nq']

const zero: ServerCounters = { connections: 0, bytesIn: 0, bytesOut: 0 }

function added(a: ServerCounters, b: ServerCounters): ServerCounters {
  return {
    connections: a.connections + b.connections,
    bytesIn: a.bytesIn + b.bytesIn,
    bytesOut: a.bytesOut + b.bytesOut,
  }
}

export class MemoryIpvs implements Ipvs {
  readonly #entriesByKey = new Map<string, Entry>()
  readonly #schedulers: ReadonlySet<string>
  #timeouts: IpvsTimeouts = { tcpSeconds: 900, tcpFinSeconds: 120, udpSeconds: 300 }

  constructor(schedulers: Iterable<string> = kernelSchedulers) {
    this.#schedulers = new Set(schedulers)
  }

  /** Acts as if the real server had these connections. */
  setConnections(server: ServerAddress, realServer: string, active: number, inactive: number): void {
    const realServers = this.#entriesByKey.get(serverKey(server))?.realServersByAddress
    const found = realServers?.get(realServer)
    if (found === undefined) throw new Error(`${serverKey(server)} has no real server ${realServer}`)
    realServers?.set(realServer, { ...found, activeConnections: active, inactiveConnections: inactive })
  }

  /** Acts as if these connections had come to the real server. */
  carry(server: ServerAddress, realServer: string, carried: ServerCounters): void {
    const entry = this.#entriesByKey.get(serverKey(server))
    if (entry?.realServersByAddress.has(realServer) !== true)
      throw new Error(`${serverKey(server)} has no real server ${realServer}`)
    entry.counters = added(entry.counters, carried)
    entry.countersByAddress.set(realServer, added(entry.countersByAddress.get(realServer) ?? zero, carried))
  }

  async counters(signal: AbortSignal): Promise<readonly CountedServer[]> {
    signal.throwIfAborted()
    return Array.from(this.#entriesByKey.values(), ({ server, counters, countersByAddress, realServersByAddress }) => ({
      ip: server.ip,
      port: server.port,
      protocol: server.protocol,
      ...counters,
      realServers: Array.from(realServersByAddress, ([address, real]) => ({
        ...real,
        ...(countersByAddress.get(address) ?? zero),
      })),
    }))
  }

  async list(signal: AbortSignal): Promise<readonly ListedServer[]> {
    signal.throwIfAborted()
    return Array.from(this.#entriesByKey.values(), ({ server, realServersByAddress }) => ({
      ...server,
      realServers: [...realServersByAddress.values()],
    }))
  }

  async find(server: ServerAddress, signal: AbortSignal): Promise<ListedServer | undefined> {
    const found = this.#entriesByKey.get(serverKey(server))
    return found && { ...found.server, realServers: await this.realServers(server, signal) }
  }

  async realServers(server: ServerAddress, signal: AbortSignal): Promise<readonly ListedRealServer[]> {
    signal.throwIfAborted()
    return [...(this.#entriesByKey.get(serverKey(server))?.realServersByAddress.values() ?? [])]
  }

  async apply(operations: readonly IpvsOperation[], signal: AbortSignal): Promise<ReadonlyMap<number, IpvsError>> {
    signal.throwIfAborted()
    const errorsByIndex = new Map<number, IpvsError>()
    for (const [index, operation] of operations.entries()) {
      const error = this.#carryOut(operation)
      if (error !== undefined) errorsByIndex.set(index, error)
    }
    return errorsByIndex
  }

  async flush(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    this.#entriesByKey.clear()
  }

  async timeouts(signal: AbortSignal): Promise<IpvsTimeouts> {
    signal.throwIfAborted()
    return this.#timeouts
  }

  async setTimeouts({ tcpSeconds, tcpFinSeconds, udpSeconds }: IpvsTimeouts, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const old = this.#timeouts
    this.#timeouts = {
      tcpSeconds: tcpSeconds || old.tcpSeconds,
      tcpFinSeconds: tcpFinSeconds || old.tcpFinSeconds,
      udpSeconds: udpSeconds || old.udpSeconds,
    }
  }

  #carryOut(operation: IpvsOperation): IpvsError | undefined {
    const refused = controlCharacterRefusal(operation, true)
    if (refused !== undefined) return refused
    const key = serverKey(operation.server)
    const entry = this.#entriesByKey.get(key)
    if (operation.kind === 'add-server') {
      if (entry !== undefined) return refusal(operation, 'exists')
      if (!this.#schedulers.has(operation.server.scheduler)) return refusal(operation, 'no such scheduler')
      this.#entriesByKey.set(key, {
        server: plainServer(operation.server),
        counters: zero,
        countersByAddress: new Map(),
        realServersByAddress: new Map(),
      })
      return undefined
    }
    if (entry === undefined) return refusal(operation, 'no such server')
    if (operation.kind === 'edit-server') {
      if (!this.#schedulers.has(operation.server.scheduler)) return refusal(operation, 'no such scheduler')
      entry.server = plainServer(operation.server)
      return undefined
    }
    if (operation.kind !== 'delete-server') return changeRealServers(entry, operation)
    this.#entriesByKey.delete(key)
    return undefined
  }
}

function changeRealServers(
  { realServersByAddress, countersByAddress }: Entry,
  operation: Extract<IpvsOperation, { readonly realServer: unknown }>,
): IpvsError | undefined {
  const { ip, port } = operation.realServer
  const address = hostPort(ip, port)
  const old = realServersByAddress.get(address)
  switch (operation.kind) {
    case 'add-real-server':
      if (familyOf(ip) !== familyOf(operation.server.ip)) return otherFamily(operation)
      if (old !== undefined) return refusal(operation, 'exists')
      realServersByAddress.set(address, listed(operation.realServer))
      return undefined
    case 'edit-real-server':
      if (old === undefined) return refusal(operation, 'no such real server')
      realServersByAddress.set(address, { ...old, weight: operation.realServer.weight })
      return undefined
    case 'delete-real-server':
      if (old === undefined) return refusal(operation, 'no such real server')
      realServersByAddress.delete(address)
      countersByAddress.delete(address)
      return undefined
    default:
      return operation satisfies never
  }
}

/** Drops other properties that the caller's object may have. */
function plainServer({ ip, port, protocol, scheduler, flags, timeoutSeconds }: VirtualServer): VirtualServer {
  return { ip, port, protocol, scheduler, flags, timeoutSeconds }
}

function listed({ ip, port, weight }: RealServer): ListedRealServer {
  return { ip, port, weight, activeConnections: 0, inactiveConnections: 0 }
}

function otherFamily(operation: IpvsOperation): IpvsError {
  return new IpvsError('refused', `cannot ${describeOperation(operation)}: their families differ`)
}
