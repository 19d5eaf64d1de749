/** What the engine needs of a listener, whatever its protocol. */
import { type Cidr, cidrContains, parseIp } from '../../../net/ip.ts'
import type { ListenerCounters } from '../listener-counters.ts'
import type { Pool, PoolUser } from './pool.ts'
import type { SocketAddress } from '../relay.ts'

/** The part of a listener that may change while it listens. */
export interface Assignment {
  readonly pool: Pool
  readonly allowedSources: readonly Cidr[]
}

export interface OpenListener extends PoolUser {
  readonly address: SocketAddress
  assign(assignment: Assignment): void
  readonly counters: ListenerCounters
  /** Undefined while it is being opened again, and on systems that have none. */
  readonly fd: number | undefined
  /** Frees the address at once. Gently: clients of UDP still get answers that are under way. */
  stop(isGentle?: boolean): Promise<void>
  /** Resolves when the listener has stopped and its last connection has ended. */
  readonly finished: Promise<void>
  /** Resets the connections that are still open. */
  cut(): void
}

export function mayUse({ allowedSources }: Assignment, clientIp: string): boolean {
  return allowedSources.length === 0 || allowedSources.some((range) => cidrContains(range, clientIp))
}

/** The canonical address behind what a socket reports: IPv4 stays IPv4, and the zone of a link-local address goes. */
export function clientIp(reported: string): string {
  return parseIp(reported.split('%', 1)[0] ?? '') ?? reported
}
