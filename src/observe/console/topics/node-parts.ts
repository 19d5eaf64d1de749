/** What a node's topics are made from: what the proxy has anyway. */
import type { ObjectKey } from '../../../api/records.ts'
import type { NodeView } from '../../../core/backend.ts'
import type { Catalog } from '../../../core/catalog.ts'
import type { Clock } from '../../../core/clock.ts'
import type { World } from '../../../core/explain/world.ts'
import type { Logger } from '../../../core/logger.ts'
import type { RouteKey } from '../../../core/route.ts'
import type { ServiceNotice } from '../../../core/routing/service-notices.ts'
import type { Drift } from '../../../core/sync/drift-memory.ts'
import type { SyncTally } from '../../../core/sync/sync-runner.ts'
import type { Family } from '../../../net/ip.ts'
import type { SyncHistory } from '../../tracing/sync-history.ts'
import type { TrafficBook } from '../../traffic/traffic-book.ts'
import type { Overview, Problem } from '../wire.ts'

/** One IP family, as far as the console shows it. */
export interface ShownFamily {
  readonly family: Family
  /** What the last sync was given to program. */
  view(): NodeView
  /** Calls with the routes that are other ones in the view from now on. Returns the function that ends it. */
  watchView(viewer: (keys: readonly RouteKey[]) => void): () => void
  pendingRoutes(): number
  syncs(): SyncTally | undefined
  /** Another map after each change. */
  failedRoutes(): ReadonlyMap<RouteKey, string>
  notProgrammed(key: RouteKey): string | undefined
}

/** What is wrong with Services. */
interface ShownNotices {
  about(service: ObjectKey): readonly (ServiceNotice & { readonly family: Family })[]
  services(): Iterable<ObjectKey>
  subscribe(listener: (service: ObjectKey) => void): () => void
}

export interface NodeParts {
  readonly catalog: Catalog
  readonly families: readonly ShownFamily[]
  readonly notices: ShownNotices
  readonly drift: { readonly last: readonly Drift[] }
  readonly book: Pick<TrafficBook, 'read' | 'readSoon'>
  readonly history: Pick<SyncHistory, 'last'>
  readonly world: () => World
  readonly source: () => Overview['source']
  readonly isHealthy: () => boolean
  readonly isReady: () => boolean
  /** What else is wrong with the process, such as a configuration that it refused. */
  readonly problems: () => readonly Problem[]
  readonly clock: Clock
  readonly log: Logger
}
