/** What the main thread and the threads of the threaded relay say to each other. */
import type { LogFields } from '../../../core/logger.ts'
import type { ConnectionReport } from '../connection-report.ts'
import type { ListenerSpec, ListenResult, RelaySettings } from '../relay.ts'

export interface WorkerSettings {
  readonly settings: RelaySettings
  /** Descriptors in use: memory of all threads, one cell each. */
  readonly usedByThread: Int32Array
  readonly thread: number
  /** The most detailed level that the log shows: one cell, which the main thread writes. */
  readonly shownLevel: Int32Array
  /** Where the thread counts for all its listeners together. */
  readonly engineCells: Float64Array
}

/** Where a listener and the endpoints of its pool are counted. */
export interface SharedCells {
  readonly listener: Float64Array
  /** In the order of the spec. */
  readonly endpoints: readonly Float64Array[]
}

/** `call` names the request in its answer. */
export type ToWorker =
  | { readonly kind: 'set'; readonly call: number; readonly spec: ListenerSpec; readonly cells: SharedCells }
  | { readonly kind: 'remove'; readonly call: number; readonly id: string; readonly isGentle: boolean }
  | { readonly kind: 'end'; readonly call: number }
  | { readonly kind: 'ping'; readonly call: number }

type AnyFromWorker =
  | { readonly kind: 'done'; readonly call: number; readonly result: ListenResult | undefined }
  | { readonly kind: 'log'; readonly line: LogLine }
  | { readonly kind: 'connection'; readonly report: ConnectionReport }

export type FromWorker<Kind extends AnyFromWorker['kind'] = AnyFromWorker['kind']> = Extract<
  AnyFromWorker,
  { readonly kind: Kind }
>

export interface LogLine {
  readonly severity: 'error' | 'warn' | 'info' | 'debug'
  readonly level: number
  readonly message: string
  readonly fields: LogFields
}
