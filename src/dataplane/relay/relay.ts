/**
 * Accepts connections and datagrams at given addresses and carries them to endpoints. Backends say where to listen and
 * who may serve; the engine balances, dials and copies. The engines in `node`, `threads` and `native` implement this
 * interface and pass `contract/relay.contract.ts`.
 */
import type { Algorithm } from '../../api/records.ts'
import type { LocalTraffic } from '../../core/node/local-traffic.ts'
import type { Cidr } from '../../net/ip.ts'
import type { ReportSettings } from './connection-report.ts'
import type { EngineCounts } from './engine-counters.ts'
import type { ProxyProtocol } from './node/proxy-protocol.ts'

export interface Relay extends AsyncDisposable {
  /**
   * Opens the listener, or changes it. While the address stays the same, nothing is closed: other endpoints, ranges or
   * affinity apply to the next connection. Calls for one id must not overlap.
   */
  set(listener: ListenerSpec): Promise<ListenResult>
  /**
   * Stops listening; the address is free when this resolves. TCP connections go on until they end or are drained. Gently:
   * answers to clients of UDP still leave from the address, which another process has too.
   */
  remove(id: string, how?: { readonly isGentle: boolean }): Promise<void>
  /** Cheap, unlike `stats`. */
  counts(id: string): TrafficCounts | undefined
  /**
   * What each endpoint of the pool has carried, by `ip:port`. One that has left is there until its last connection has
   * ended, and an engine has room for so many, so an endpoint may be missing.
   */
  endpointCounts(pool: string): ReadonlyMap<string, EndpointCounts>
  /** Since the relay was opened. Unlike the sum of all listeners, it never falls when one is removed. */
  totals(): RelayTotals
  stats(): RelayStats
  /** The sockets that listen now. Absent, or without some: the engine does not know its descriptors. */
  listening?(): readonly ListeningSocket[]
  /** How many connections are dialled from the client's own address. Absent: the engine cannot do that. */
  transparentConnections?(): number
}

export interface SocketAddress {
  readonly ip: string
  readonly port: number
}

export interface PoolEndpoint extends SocketAddress {
  /** On this node: its answers come back through this machine, whoever the client is. */
  readonly isHere?: boolean
  /** How many connections it gets, compared with others: a whole number, 1 by default. */
  readonly weight?: number
}

/**
 * Whose TCP connections are dialled from the client's own address, where the answers come back through this machine. The
 * caller sees to it that the kernel delivers them here. Engines without `transparentConnections` know nothing of it.
 */
export interface KeptClients {
  /** Pods of this node; or everybody, at the endpoints of this node. */
  readonly of: 'pods' | 'everybody'
  /** How pods are told apart. */
  readonly pods: LocalTraffic
}

export interface ListenerSpec {
  readonly id: string
  readonly protocol: 'TCP' | 'UDP'
  /** Port 0 takes any free one. */
  readonly address: SocketAddress
  /** Clients outside these ranges are turned away; empty means everybody may come. */
  readonly allowedSources: readonly Cidr[]
  /** Undefined: endpoints see this machine, whoever the client is. */
  readonly keeps?: KeptClients
  readonly pool: PoolSpec
  /** Of a socket that listens at the address already. It belongs to the relay, which takes it only if it opens the listener. */
  readonly fd?: number
}

export interface ListeningSocket extends Pick<ListenerSpec, 'id' | 'protocol' | 'address'> {
  readonly fd: number
}

/** A listener that took any free port also matches a later call for exactly that port. */
export function isBoundAs(protocol: ListenerSpec['protocol'], address: SocketAddress, wanted: ListenerSpec): boolean {
  const isSamePort = wanted.address.port === 0 || wanted.address.port === address.port
  return protocol === wanted.protocol && address.ip === wanted.address.ip && isSamePort
}

/**
 * The endpoints behind one or more listeners. Listeners that name the same pool share its turn order and its affinity,
 * so a client stays with one endpoint whichever address of the Service it uses. The last `set` decides what is in it.
 */
export interface PoolSpec {
  readonly id: string
  /** `namespace/name:port`, for the logs. */
  readonly service: string
  readonly endpoints: readonly PoolEndpoint[]
  /** 0: no client-IP affinity. */
  readonly affinitySeconds: number
  /**
   * What a TCP client meets while there are no endpoints: a reset (nobody can serve), or a plain close (others can,
   * this node may not). A datagram is dropped either way.
   */
  readonly whenEmpty: 'refuse' | 'close'
  /** In turn by default. */
  readonly balancing?: Balancing
  /** TCP connections begin with a header that tells the endpoint the client's address. */
  readonly proxyProtocol?: ProxyProtocol
  /** Connections that are older, give or take a tenth, end in a quiet moment (`connection-age.ts`), so that new endpoints get some. */
  readonly maxConnectionAgeMs?: number
  /** Above them a TCP connection waits, up to 5 s and behind at most 1,024 others of the pool, and is refused then; a UDP client is refused at once. */
  readonly limits?: PoolLimits
}

/** Of connections, and of dials in any second; those that are not there are not limited. */
export interface PoolLimits {
  /** Pools with the same name count together. No spaces, no commas. */
  readonly sharedAs: string
  readonly connections?: number
  /** An endpoint that has as many is passed over. */
  readonly connectionsPerEndpoint?: number
  readonly dialsPerSecond?: number
  readonly dialsPerSecondPerEndpoint?: number
}

/**
 * `least-connections` counts those that this relay has open, for the weight of the endpoint. `source-hash` goes by the
 * client's address, `maglev` by its address and port: both choose the same in every engine.
 */
export type Balancing = Algorithm

export type ListenResult =
  | { readonly ok: true; readonly address: SocketAddress; readonly fd?: number | undefined }
  | { readonly ok: false; readonly problem: ListenProblem; readonly message: string }

export type ListenProblem = 'in-use' | 'not-local' | 'not-permitted' | 'out-of-descriptors' | 'failed'

/** As the first userspace proxies had it. */
export const usualUdpIdleMs = 250

export interface RelaySettings extends ReportSettings {
  /** One dial attempt per entry, each with its own timeout, each to the next endpoint. */
  readonly dialTimeoutsMs: readonly number[]
  /** A connection that one side has ended and that carries no byte for this long is closed. */
  readonly halfCloseTimeoutMs: number
  /** A UDP client that neither sends nor receives for this long is forgotten. */
  readonly udpIdleMs: number
  readonly maxUdpFlowsPerListener: number
  /** How long connections may outlive their endpoint or listener; undefined: until they end, as with kernel modes. */
  readonly drainTimeoutMs: number | undefined
  /** How long disposing waits for connections to end before it cuts them. */
  readonly shutdownGraceMs: number
  /** An engine or a thread that does not answer for so long hangs, and is replaced. */
  readonly stuckAfterMs: number
  /** Sockets the process may have open; the relay stays well below. */
  readonly maxDescriptors: number
}

export interface RelayStats {
  readonly listeners: readonly ListenerStats[]
  readonly pools: number
  /** Bytes read from one side of a TCP connection that the other side has not taken yet. */
  readonly bufferedBytes: number
  /** TCP connections whose listener is gone. */
  readonly draining: number
  readonly descriptors: { readonly used: number; readonly budget: number }
}

export interface ListenerStats extends TrafficCounts {
  readonly id: string
  readonly service: string
  readonly protocol: 'TCP' | 'UDP'
  readonly address: SocketAddress
}

/** Since the listener was opened. For UDP a connection is a client address and port, until it goes idle. */
export interface TrafficCounts {
  readonly connections: number
  readonly active: number
  /** From clients. */
  readonly bytesIn: number
  /** To clients. */
  readonly bytesOut: number
  readonly dialFailures: number
  /** How long the TCP connections lasted that have ended, added up. */
  readonly seconds: number
  readonly turnedAway: Readonly<Record<TurnedAway, number>>
  readonly limited: Readonly<Record<Limited, number>>
}

/** What a limit of the Service did to a connection: it was too old, and was closed towards the client, or reset; it had to wait. */
export type Limited = 'aged' | 'aged-reset' | 'waited'

/** Since the endpoint came into its pool. */
export interface EndpointCounts {
  /** That it took. */
  readonly connections: number
  readonly active: number
  readonly bytesIn: number
  readonly bytesOut: number
  readonly seconds: number
  /** When the last connection came, on the wall clock. */
  readonly lastUsedMs?: number
  readonly dialFailures: Readonly<Record<DialFailure, number>>
}

/** Why an attempt to reach an endpoint failed. */
export type DialFailure = 'refused' | 'timeout' | 'unreachable' | 'other'

export interface RelayTotals extends EngineCounts {
  readonly carried: Readonly<Record<ListenerSpec['protocol'], TrafficCounts>>
  readonly descriptors: RelayStats['descriptors']
}

/** Why a connection or a datagram was not carried to an endpoint. */
export type TurnedAway = 'no-endpoint' | 'unreachable' | 'source-not-allowed' | 'overload' | Full

/** Which limit of the Service leaves no room. */
export type Full = 'max-connections' | 'max-dials-per-second'
