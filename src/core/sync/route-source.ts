/** Where a sync runner gets its work: the routes of one IP family, and what changed in them. */
import type { Change, NodeView } from '../backend.ts'
import type { LinkedCauses } from './cause-links.ts'
import type { EndpointRemoval } from './removal-times.ts'

/** What one sync has to program. */
export interface PendingSync {
  readonly view: NodeView
  readonly change: Change
  /** When the changes happened in the cluster (Unix milliseconds), for the programming latency. */
  readonly triggerTimesMs: readonly number[]
  /** Endpoints that get no new connections once this is programmed. */
  readonly removals: readonly EndpointRemoval[]
  /** Some UDP endpoint changed, so flows that still point to an old one may exist. */
  readonly needsConntrackCleanup: boolean
  /** For the trace of the sync. */
  readonly causedBy: LinkedCauses
}

export interface SyncRequest {
  /** An endpoint was removed: until it is programmed, connections go to nobody. */
  readonly urgent: boolean
  /** Services and EndpointSlices have both been listed just now: what is known can be programmed. */
  readonly initialised: boolean
}

export interface RouteSource {
  readonly isInitialised: boolean
  /** Called after anything that needs a sync; `urgent` when endpoints were removed. Returns the unsubscribe function. */
  subscribe(listener: (request: SyncRequest) => void): () => void
  /** Commits what is pending into the view and hands it over; `full` lists everything. */
  take(options: { readonly full: boolean }): PendingSync
  /** Services with routes. */
  readonly serviceCount: number
  /** Routes with a Local policy but no local endpoint although some endpoint exists, kept incrementally. */
  readonly noLocalEndpoints: { readonly internal: number; readonly external: number }
}
