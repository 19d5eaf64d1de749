/** Every page below `/debug/`, put together from what the daemon has. */
import type { Removals, Safety } from '../../core/sync/time-to-safety.ts'
import type { World } from '../../core/explain/world.ts'
import type { Family } from '../../net/ip.ts'
import { driftPage } from '../../observe/inspection/drift-page.ts'
import { PacedReading } from '../../observe/inspection/paced-reading.ts'
import { rulesPage } from '../../observe/inspection/rules-page.ts'
import type { DebugPage } from '../../observe/http/debug/debug-page.ts'
import type { SyncHistory } from '../../observe/tracing/sync-history.ts'
import { syncsPage } from '../../observe/tracing/syncs-page.ts'
import { servicePage } from '../../observe/http/debug/service-page.ts'
import { viewPage } from '../../observe/http/debug/view-page.ts'
import type { TrafficBook } from '../../observe/traffic/traffic-book.ts'
import { trafficPage } from '../../observe/traffic/traffic-page.ts'
import { trafficTable } from '../../observe/traffic/traffic-rows.ts'
import type { ClusterParts, Daemon } from './daemon.ts'
import { explainPage } from '../explain/explain-page.ts'
import { observedTraffic } from '../explain/observed.ts'
import type { FamilyProxy } from './family-proxy.ts'
import type { ProxyMemory } from './proxy-memory.ts'

export interface DebugPagesOptions {
  readonly daemon: Daemon
  readonly cluster: ClusterParts
  readonly memory: ProxyMemory
  readonly proxies: readonly FamilyProxy[]
  readonly book: TrafficBook
  readonly history: SyncHistory
  readonly world: () => World
}

export function debugPages(options: DebugPagesOptions): readonly DebugPage[] {
  const {
    daemon,
    cluster: { catalog },
    memory,
    proxies,
    book,
    history,
    world,
  } = options
  const proxyOf = (family: Family) => proxies.find((proxy) => proxy.family === family)
  const reading = new PacedReading(daemon.host.clock)
  const views = () => proxies.map((proxy) => proxy.view())
  return [
    viewPage({
      mode: daemon.config.mode,
      views,
      summary: () => ({ safePreStop: shownSafety(memory.safety.longestOfLastHour()) }),
    }),
    servicePage({
      catalog,
      views,
      more: {
        notices: (service) => nonEmpty(memory.notices.about(service)),
        lastSyncs: (service) =>
          memory.touched.of(service).map(({ atMs, ...touch }) => ({ ...touch, at: new Date(atMs).toISOString() })),
        timeToSafety: (service) => shownRemovals(memory.safety.removalsOf(...splitKey(service))),
        traffic: (service) => trafficOf(service, book),
        uncounted: async () => nonEmpty((await book.readSoon()).uncounted),
      },
    }),
    explainPage({
      world,
      inspect: (family, key, signal) => reading.run(async () => proxyOf(family)?.inspect(key, signal), signal),
      observe: async (family, { namespace, name, key }) => {
        const timeToSafety = memory.safety.safetyOf(namespace, name)
        const notProgrammed = proxyOf(family)?.notProgrammed(key)
        return {
          ...(await observedTraffic(book, family, key)),
          ...(timeToSafety && { timeToSafety }),
          ...(notProgrammed !== undefined && { notProgrammed }),
        }
      },
    }),
    trafficPage(book, () => daemon.running.config.fairlead.serviceSeriesLimit),
    syncsPage(history),
    rulesPage({ families: proxies, reading }),
    driftPage({ families: proxies, memory: memory.drift, reading }),
  ]
}

/** Of each port; with how even it is. */
async function trafficOf(service: string, book: Pick<TrafficBook, 'readSoon'>) {
  const [namespace] = splitKey(service)
  const query = { sort: 'name', limit: 1000, withEndpoints: true, namespace, filter: service } as const
  const { services } = trafficTable((await book.readSoon()).carried, query)
  return nonEmpty(services.filter((row) => row.service === service || row.service.startsWith(`${service}:`)))
}

function shownSafety(safety: Safety | undefined) {
  if (safety === undefined) return undefined
  const { atMs, ...rest } = safety
  return { ...rest, at: new Date(atMs).toISOString() }
}

/** The last one, and how long all of them took. JSON has no infinity. */
function shownRemovals(removals: Removals | undefined) {
  if (removals === undefined) return undefined
  const spread = removals.spread.map(({ upToSeconds, ...rest }) => ({
    upToSeconds: Number.isFinite(upToSeconds) ? upToSeconds : 'more',
    ...rest,
  }))
  return { ...shownSafety(removals.last), removals: removals.count, spread }
}

function splitKey(service: string): [namespace: string, name: string] {
  const [namespace = '', name = ''] = service.split('/')
  return [namespace, name]
}

function nonEmpty<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length === 0 ? undefined : list
}
