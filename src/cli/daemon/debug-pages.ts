/** Every page below `/debug/`, put together from what the daemon has. */
import type { DebugPage } from '../../observe/http/debug/debug-page.ts'
import type { SyncHistory } from '../../observe/tracing/sync-history.ts'
import { syncsPage } from '../../observe/tracing/syncs-page.ts'
import type { TrafficBook } from '../../observe/traffic/traffic-book.ts'
import { trafficPage } from '../../observe/traffic/traffic-page.ts'
import type { FamilyProxy } from './family-proxy.ts'

export interface DebugPagesOptions {
  readonly proxies: readonly FamilyProxy[]
  readonly book: TrafficBook
  readonly history: SyncHistory
}

export function debugPages({ book, history }: DebugPagesOptions): readonly DebugPage[] {
  return [trafficPage(book), syncsPage(history)]
}
