/** The whole contract between the brain and a data plane. */
import type { Family } from '../net/ip.ts'
import type { Inspection, PlannedPiece } from './inspection.ts'
import type { Route, RouteKey } from './route.ts'
import type { Span } from './trace.ts'
import type { RouteTraffic } from './traffic.ts'

/** What this node knows about itself. */
export interface NodeFacts {
  readonly name: string
  readonly zone: string
  /** The node's address of the view's family (a loopback address when it has none). */
  readonly ip: string
}

/**
 * Everything a backend needs to know about one IP family on this node. The maps stay as they are for the length of
 * one sync; keep nothing of a view but the Routes, which never change.
 */
export interface NodeView {
  readonly family: Family
  readonly node: NodeFacts
  readonly routesByKey: ReadonlyMap<RouteKey, Route>
  /** Canonical CIDRs that cluster IPs are allocated from; empty when unknown. */
  readonly serviceCidrs: readonly string[]
}

/** What happened since the last successful sync. */
export interface Change {
  /** Program everything: the first run, after a failure, after the node itself changed, and now and then to repair. */
  readonly full: boolean
  /**
   * The routes to look at, in the order to program them: removals first, then the API server and cluster DNS, then
   * the rest. A key without a route in the view was removed. With `full` it lists every route of the view too.
   */
  readonly keys: readonly RouteKey[]
  /** Why this sync runs, for people: the first few objects that changed, and how many more. */
  readonly causes: readonly string[]
}

export interface SyncReport {
  /** Facts for the log line and the trace of this sync, e.g. `{ commands: 12 }`. */
  readonly facts: Readonly<Record<string, number | string>>
  /** Routes that could not be programmed although the sync as a whole succeeded. */
  readonly failed: readonly { readonly key: RouteKey; readonly reason: string }[]
  /** News about routes that are programmed all the same, each said once: somebody else has a port of theirs. */
  readonly notices?: SyncReport['failed']
}

/** One text that a plan renders to, e.g. the input of `iptables-restore`; modes with several name them as parts. */
export interface RenderedPart {
  readonly part: string
  readonly text: string
  /** Commands that must have run before the tool takes the text. */
  readonly needs?: readonly string[]
}

export type Comparison =
  | { readonly kind: 'as written' }
  | { readonly kind: 'differs'; readonly found: string }
  /** The last sync has failed, or there was none. */
  | { readonly kind: 'unknown' }

/** Programs one IP family. It holds no Kubernetes rule, no timer and no retry. */
export interface Backend {
  readonly name: string
  /** Says in the span what it does: plan, apply, commit. */
  sync(view: NodeView, change: Change, signal: AbortSignal, span?: Span): Promise<SyncReport>
  /**
   * Watches what others do to the data plane until the signal aborts, and calls `onDrift` with what it found when a
   * full sync must repair it. Rejects when this process must end. Modes that nobody else can touch have none.
   */
  watch?(onDrift: (found: string) => void, signal: AbortSignal): Promise<void>
  /** Another process may take over from now on, until `reclaim`: what it writes is nothing to repair, and no offence. */
  stepAside?(): void
  /**
   * A process that was taking over has ended, and this one goes on. For modes in which a process says whose the data plane
   * is: it is this one's again. What the other one wrote there is found by `watch`.
   */
  reclaim?(): void
  /**
   * What each route has carried so far, or each of those. It may read everything that the data plane holds: ask seldom,
   * and no more often than every `trafficEveryMs`. Modes that cannot count have none.
   */
  traffic?(signal: AbortSignal, keys?: ReadonlySet<RouteKey>): Promise<ReadonlyMap<RouteKey, RouteTraffic>>
  readonly trafficEveryMs?: number
  /**
   * What the data plane holds for the route, compared with what was planned. It changes nothing. Undefined: the route is
   * not programmed, or the last sync has failed and nobody knows what is there.
   */
  inspect?(key: RouteKey, signal: AbortSignal): Promise<Inspection | undefined>
  /** What was written last for the route, without a look at what is there. Undefined as above. */
  pieces?(key: RouteKey): Promise<readonly PlannedPiece[] | undefined>
  /** Reads everything, and names the first thing that is not as it was written. Modes that nobody else can touch have none. */
  compare?(signal: AbortSignal): Promise<Comparison>
  /** All that was written last, as the mode's own tools read it. Undefined: nobody knows what is there. */
  rendered?(): Promise<readonly RenderedPart[] | undefined>
  /**
   * Ends what the backend itself runs (listeners, workers). Kernel state stays: restarting must not disturb traffic. Only
   * rules and addresses that lead to those listeners go with them.
   */
  [Symbol.asyncDispose](): Promise<void>
}
