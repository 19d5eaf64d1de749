/** The one door to the kernel's load balancer. Each implementation passes `ipvs.contract.ts`. */
import type { Route } from '../../core/route.ts'
import { hostPort } from '../../net/ip.ts'

/** What identifies a virtual server. */
export interface ServerAddress {
  readonly ip: string
  readonly port: number
  readonly protocol: Route['protocol']
}

/** `10.96.0.10:80/TCP`, with brackets around IPv6: unique among virtual servers. */
export function serverKey({ ip, port, protocol }: ServerAddress): string {
  return `${hostPort(ip, port)}/${protocol}`
}

/** An address that the kernel itself accepts connections for, and spreads over real servers. */
export interface VirtualServer extends ServerAddress {
  /** The name of a kernel scheduler, such as `rr`. */
  readonly scheduler: string
  /** Bits of `serverFlag`. */
  readonly flags: number
  /** How long a client stays with its real server. It has a meaning with the flag `persistent` only. */
  readonly timeoutSeconds: number
}

export const serverFlag = {
  /** A client stays with the real server it got first. */
  persistent: 0x1,
  onePacket: 0x4,
  /** What these mean is up to the scheduler; `mh` and `sh` take the second as "hash the source port, too". */
  scheduler1: 0x8,
  scheduler2: 0x10,
  scheduler3: 0x20,
} as const

/** Where connections go: the kernel rewrites address and port, and undoes it on the way back (NAT). */
export interface RealServer {
  readonly ip: string
  readonly port: number
  /** A server with weight 0 gets no new connections and keeps those it has. */
  readonly weight: number
}

/** A real server as the kernel has it. */
export interface ListedRealServer extends RealServer {
  readonly activeConnections: number
  /** Closing or closed ones that are still remembered. A UDP flow counts here, never as active. */
  readonly inactiveConnections: number
}

export interface ListedServer extends VirtualServer {
  readonly realServers: readonly ListedRealServer[]
}

export type IpvsOperation =
  | { readonly kind: 'add-server'; readonly server: VirtualServer }
  /** Connections and real servers stay. */
  | { readonly kind: 'edit-server'; readonly server: VirtualServer }
  /** Its real servers go with it. */
  | { readonly kind: 'delete-server'; readonly server: ServerAddress }
  /** The kernel may give one that was deleted a short time ago the connections back that it had. */
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

/** Every method rejects with an IpvsError when the kernel cannot be asked at all. */
export interface Ipvs {
  /**
   * All virtual servers of both families, in no order. Those for a firewall mark are left out: they have no address.
   * What changes while it is read may be in the answer or not.
   */
  list(signal: AbortSignal): Promise<readonly ListedServer[]>
  /** The real servers of one virtual server; empty when there is no such server. */
  realServers(server: ServerAddress, signal: AbortSignal): Promise<readonly ListedRealServer[]>
  /**
   * Carries out the operations in this order, and goes on after one that fails. The errors are returned by the index of
   * the operation; an empty map means that all went well. A thousand cost hardly more than one.
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
   * `module-missing`: the kernel has no IPVS, or not this scheduler; the message names the module and how to load it.
   * `exists` and `not-found` speak of the virtual or real server of an operation.
   */
  readonly reason: 'module-missing' | 'tool-missing' | 'not-permitted' | 'exists' | 'not-found' | 'refused'

  constructor(reason: IpvsError['reason'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
  }
}
