import type { KubeErrorReason } from '../kube-error.ts'

/** How the copy of one kind of object is doing: what health checks and people want to know. */
export interface ReflectorStatus {
  /** The first complete list has been delivered. */
  readonly hasSynced: boolean
  /** A watch is open right now. */
  readonly isConnected: boolean
  /** When the server last sent anything (Unix milliseconds); undefined before the first byte. */
  readonly lastContactMs: number | undefined
  /** What went wrong last; undefined when all is well since. */
  readonly lastError: string | undefined
  /** The version we have followed the server to. */
  readonly resourceVersion: string | undefined
  readonly lists: number
  readonly watches: number
  readonly errors: number
}

/** What a reflector reports as it happens; `observe/` turns it into Prometheus series. */
export interface ReflectorMetrics {
  /** A complete list was delivered. */
  listed(kind: string, items: number): void
  watchStarted(kind: string): void
  failed(kind: string, reason: KubeErrorReason): void
}

export const noReflectorMetrics: ReflectorMetrics = { listed() {}, watchStarted() {}, failed() {} }
