/** What the brain reports about itself, in its own words; `observe/` turns it into Prometheus series. */
import type { ObjectKind } from '../api/records.ts'
import type { Family } from '../net/ip.ts'
import type { NoticeReason } from './routing/service-notices.ts'

export interface ProxyMetrics {
  /** A Service, or an EndpointSlice, event arrived for a family (dual stack counts each family). */
  serviceChange(): void
  endpointChange(): void
  /** How many changes wait for the next sync. */
  pendingChanges(pending: { readonly services: number; readonly slices: number }): void
  syncRequested(family: Family, atMs: number): void
  /** A sync ran, successfully or not. */
  syncRan(family: Family, sync: SyncRan): void
  syncSucceeded(family: Family, atMs: number): void
  /** Seconds from the change in the cluster to the moment it was programmed here. */
  programmed(family: Family, latencySeconds: number): void
  /** Seconds from an endpoint's removal in the cluster to the moment no new connection reaches it through this node. */
  endpointRemoved(family: Family, seconds: number): void
  noLocalEndpoints(family: Family, policy: 'internal' | 'external', routes: number): void
  /** An object, or a part of it, was skipped because it is invalid. */
  objectProblem(kind: ObjectKind): void
  /** How many notices about Services hold now. */
  serviceNotices(family: Family, reason: NoticeReason, count: number): void
  /** Connections of clients on this node that were older than their Service wants. */
  oldConnectionsEnded(family: Family, count: number): void
}

export interface SyncRan {
  readonly seconds: number
  readonly full: boolean
  /** One that is cut short because the process ends has not failed. */
  readonly hasFailed: boolean
}

/** Nobody counts: for commands that run once, and for tests. */
export const silentMetrics: ProxyMetrics = {
  serviceChange() {},
  endpointChange() {},
  pendingChanges() {},
  syncRequested() {},
  syncRan() {},
  syncSucceeded() {},
  programmed() {},
  endpointRemoved() {},
  noLocalEndpoints() {},
  objectProblem() {},
  serviceNotices() {},
  oldConnectionsEnded() {},
}
