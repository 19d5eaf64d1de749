/** The interface to the kernel's load balancer. Each implementation passes `ipvs.contract.ts`. */
import type { Route } from '../../core/route.ts'
import { hostPort } from '../../net/ip.ts'

/** What identifies a virtual server. */
export interface ServerAddress {
  readonly ip: string
  readonly port: number
  readonly protocol: Route['protocol']
}

/** `10.96.0.10:80/TCP`, with brackets around IPv6. */
export function serverKey({ ip, port, protocol }: ServerAddress): string {
  return `${hostPort(ip, port)}/${protocol}`
}

/** An address whose connections the kernel spreads over real servers. */
export interface VirtualServer extends ServerAddress {
  /** The name of a kernel scheduler, such as `rr`. */
  readonly scheduler: string
  /** Bits of `serverFlag`. */
  readonly flags: number
  /** How long a client stays with its real server, if the flag `persistent` is set. */
  readonly timeoutSeconds: number
}

export const serverFlag = {
  /** A client stays with its first real server. */
  persistent: 0x1,
  onePacket: 0x4,
  /** Their meaning depends on the scheduler. For `mh` and `sh` the second means "hash the source port, too". */
  scheduler1: 0x8,
  scheduler2: 0x10,
  scheduler3: 0x20,
} as const

/** Where connections go: the kernel rewrites address and port, and undoes it on the way back (NAT). */
export interface RealServer {
  readonly ip: string
  readonly port: number
  /** With weight 0, it gets no new connections and keeps the old ones. */
  readonly weight: number
}

export interface ListedRealServer extends RealServer {
  readonly activeConnections: number
  /** Connections that are closing, or closed but still in the table. UDP flows count here, never as active. */
  readonly inactiveConnections: number
}

export interface ListedServer extends VirtualServer {
  readonly realServers: readonly ListedRealServer[]
}

/** Since the server was made. */
export interface ServerCounters {
  readonly connections: number
  /** From clients. */
  readonly bytesIn: number
  /** To clients. */
  readonly bytesOut: number
}

export interface CountedServer extends ServerAddress, ServerCounters {
  readonly realServers: readonly (Omit<ListedRealServer, 'weight'> & ServerCounters)[]
}

export type IpvsOperation =
  | { readonly kind: 'add-server'; readonly server: VirtualServer }
  /** Connections and real servers stay. */
  | { readonly kind: 'edit-server'; readonly server: VirtualServer }
  /** Its real servers are deleted, too. */
  | { readonly kind: 'delete-server'; readonly server: ServerAddress }
  /** If it was deleted a short time ago, the kernel may give it its old connections back. */
  | { readonly kind: 'add-real-server'; readonly server: ServerAddress; readonly realServer: RealServer }
  | { readonly kind: 'edit-real-server'; readonly server: ServerAddress; readonly realServer: RealServer }
  | {
      readonly kind: 'delete-real-server'
      readonly server: ServerAddress
      readonly realServer: Pick<RealServer, 'ip' | 'port'>
    }

export interface IpvsTimeouts {
  readonly tcpSeconds: number
  readonly tcpFinSeconds: number
  readonly udpSeconds: number
}

/** Every method rejects with an IpvsError when IPVS cannot be used at all. */
export interface Ipvs {
  /**
   * All virtual servers of both families, not sorted. Those for a firewall mark are left out: they have no address.
   * Changes made while it reads may be missing.
   */
  list(signal: AbortSignal): Promise<readonly ListedServer[]>
  /** One virtual server with its real servers, if it exists. */
  find(server: ServerAddress, signal: AbortSignal): Promise<ListedServer | undefined>
  /** What all virtual servers of both families have carried. It takes a question for each of them. */
  counters(signal: AbortSignal): Promise<readonly CountedServer[]>
  /** Empty if there is no such virtual server. */
  realServers(server: ServerAddress, signal: AbortSignal): Promise<readonly ListedRealServer[]>
  /**
   * Makes the operations in this order, and continues after one that fails. Errors are returned by the index of the
   * operation. A thousand operations cost hardly more than one.
   */
  apply(operations: readonly IpvsOperation[], signal: AbortSignal): Promise<ReadonlyMap<number, IpvsError>>
  /** Deletes every virtual server, of both families. */
  flush(signal: AbortSignal): Promise<void>
  timeouts(signal: AbortSignal): Promise<IpvsTimeouts>
  /** A timeout of 0 stays as it is. */
  setTimeouts(timeouts: IpvsTimeouts, signal: AbortSignal): Promise<void>
}

export class IpvsError extends Error {
  override readonly name = 'IpvsError'
  /**
   * `module-missing`: the kernel has no IPVS, or lacks this scheduler; the message names the module and how to load it.
   * `exists` and `not-found` are about the virtual or real server of an operation.
   */
  readonly reason: 'module-missing' | 'tool-missing' | 'not-permitted' | 'exists' | 'not-found' | 'refused'

  constructor(reason: IpvsError['reason'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
  }
}
