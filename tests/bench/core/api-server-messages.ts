/** What the benchmark and its API server tell each other. */
export type FromApiServer =
  | { readonly kind: 'ready'; readonly port: number; readonly bytes: number }
  /** The last byte of an answer has left for the client. */
  | { readonly kind: 'sent'; readonly path: string; readonly atMs: number }
  /** Somebody began to watch. */
  | { readonly kind: 'watched'; readonly path: string }
  /** For each Service whose endpoints changed, when its event was written. */
  | {
      readonly kind: 'changed'
      readonly changes: readonly (readonly [service: string, atMs: number])[]
      /** Of the events, to one watcher. */
      readonly bytes: number
    }

export interface ToApiServer {
  readonly changes: number
  /** From one change to the next. */
  readonly pauseMs: number
  /** The number of the first Service to change. */
  readonly from?: number
}
