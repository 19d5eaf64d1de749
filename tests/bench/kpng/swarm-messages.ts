/** What the benchmark and its many nodes tell each other. */
export type FromSwarm =
  /** Every node has the first state. */
  | { readonly kind: 'synced'; readonly services: number; readonly endpoints: number }
  | { readonly kind: 'report'; readonly report: SwarmReport }

export interface ToSwarm {
  /** When each change was written by the API server, in the order of their numbers. */
  readonly changedAtMs: readonly number[]
}

export interface SwarmReport {
  /** Changes that some node has not seen. */
  readonly missing: number
  readonly medianMs: number
  readonly p99Ms: number
  readonly maxMs: number
  /** Change sets that each node got, on average. */
  readonly changeSets: number
}
