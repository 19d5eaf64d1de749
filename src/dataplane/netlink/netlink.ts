/** Requests to the kernel over one netlink socket. */
import type { NetlinkMessage } from './message.ts'
import type { NetlinkError } from './netlink-error.ts'

export type NetlinkProtocol = 'route' | 'sock-diag' | 'netfilter' | 'generic'

export interface NetlinkRequest {
  /** Completes the sentence "cannot …" in errors: `list the UDP flows`. */
  readonly doing: string
  readonly type: number
  /** In addition to "request", and to "ack" or "dump". */
  readonly flags?: number
  /** The subsystem's fixed header and its attributes. */
  readonly body: Buffer
}

/** Every method rejects with a NetlinkError, or with the signal's reason. One call at a time. */
export interface Netlink extends AsyncDisposable {
  /** The data messages that came before the kernel's acknowledgement. */
  request(request: NetlinkRequest, signal: AbortSignal): Promise<readonly NetlinkMessage[]>
  /**
   * Data as it arrives, one datagram at a time. If the kernel says that the data changed meanwhile, everything is
   * delivered first and `interrupted` is thrown at the end. If the caller stops early, the socket is closed.
   */
  dump(request: NetlinkRequest, signal: AbortSignal): AsyncIterable<readonly NetlinkMessage[]>
  /**
   * Sends all requests in one datagram. The kernel continues after one that fails; errors are returned by the index of
   * the request. Only the last request asks for an acknowledgement, so a thousand cost hardly more than one.
   */
  batch(requests: readonly NetlinkRequest[], signal: AbortSignal): Promise<ReadonlyMap<number, NetlinkError>>
}
