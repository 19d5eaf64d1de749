/**
 * What an engine tells about single connections: about one in so many, and about those that failed, as far as they do
 * not come in masses. All times are wall-clock milliseconds with a fraction.
 */
import type { TurnedAway } from './relay.ts'

export type ConnectionReport = TcpReport | UdpReport

export type OnConnection = (report: ConnectionReport) => void

/** One of a connection that has ended, or that has been open for a while; then others of the same id follow. */
interface AnyReport {
  readonly id: string
  readonly hasEnded: boolean
  /** `namespace/name:port` */
  readonly service: string
  /** `ip:port` */
  readonly client: string
  /** Where it was accepted, as `ip:port`. */
  readonly local: string
  readonly startMs: number
  /** Of what has ended; otherwise the moment of the report. */
  readonly endMs: number
}

export interface TcpReport extends AnyReport {
  readonly protocol: 'TCP'
  readonly result: TcpResult
  readonly attempts: readonly DialAttempt[]
  /** Once an endpoint has answered. */
  readonly copying?: Copying
}

export type TcpResult = 'connected' | 'client-left' | TurnedAway

export interface DialAttempt {
  /** `ip:port` */
  readonly endpoint: string
  /** The client used this endpoint before. */
  readonly isSticky: boolean
  /** How many there were to choose from. */
  readonly endpoints: number
  readonly timeoutMs: number
  readonly startMs: number
  readonly endMs: number
  /** `ECONNREFUSED` and the like; undefined: it answered, or the client did not wait. */
  readonly error?: string
}

export interface Copying {
  readonly startMs: number
  /** From the client. */
  readonly bytesIn: number
  /** To the client. */
  readonly bytesOut: number
  /** When that direction had ended, if it had before the connection. */
  readonly inEndMs?: number
  readonly outEndMs?: number
  /** Why it was cut; undefined for one that both sides have ended. */
  readonly error?: string
}

export interface UdpReport extends AnyReport {
  readonly protocol: 'UDP'
  readonly endpoint?: string
  readonly datagramsIn: number
  readonly datagramsOut: number
  readonly bytesIn: number
  readonly bytesOut: number
  /** While it is open: `open`. */
  readonly endReason: UdpEnd | 'open'
}

export type UdpEnd = 'idle' | 'endpoint-left' | 'too-many-clients' | 'stopped' | 'failed' | 'aged' | TurnedAway

export interface ReportSettings {
  /** One connection in so many is reported; 0: none, not even those that failed. */
  readonly reportOneIn: number
  /** A connection that is open for so long is reported, and again after each such time. */
  readonly reportEveryMs: number
  /** Beyond these, connections that failed are not reported. */
  readonly failureReportsPerSecond: number
}

export const noReports: ReportSettings = { reportOneIn: 0, reportEveryMs: 120_000, failureReportsPerSecond: 10 }
