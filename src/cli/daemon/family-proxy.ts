/** One IP family, from the Catalog to the data plane: routes, backend, health-check ports and the loop that syncs them. */
import { OldConnections } from '../../core/age/old-connections.ts'
import { EndpointCare } from '../../core/care/endpoint-care.ts'
import type { Probe } from '../../core/care/health-checks.ts'
import type { PodWeights } from '../../core/care/pod-weights.ts'
import type { Backend, NodeView } from '../../core/backend.ts'
import type { Catalog } from '../../core/catalog.ts'
import type { Clock } from '../../core/clock.ts'
import type { Logger } from '../../core/logger.ts'
import { matchingAddresses, nodePortAddresses } from '../../core/node/node-port-addresses.ts'
import type { RouteKnowledge } from '../../core/explain/world.ts'
import type { ProxyHealth } from '../../core/health/proxy-health.ts'
import type { ProxyMetrics } from '../../core/proxy-metrics.ts'
import type { PendingSync } from '../../core/sync/route-source.ts'
import { RouteTable } from '../../core/routing/route-table.ts'
import type { RouteKey } from '../../core/route.ts'
import type { HealthCheckPort } from '../../core/health/service-health.ts'
import { ServiceHealth } from '../../core/health/service-health.ts'
import type { NoticeSink } from '../../core/routing/service-notices.ts'
import type { ServingPolicy } from '../../core/routing/serving-policy.ts'
import type { RouteSpanNames } from '../../core/routing/routed-events.ts'
import type { DriftMemory } from '../../core/sync/drift-memory.ts'
import { SyncRunner } from '../../core/sync/sync-runner.ts'
import type { SyncTally } from '../../core/sync/sync-runner.ts'
import type { SyncPeriods } from '../../core/sync/sync-loop.ts'
import type { AfterSync } from '../../core/sync/sync-runner.ts'
import type { Tracer } from '../../core/trace.ts'
import type { TimeToSafety } from '../../core/sync/time-to-safety.ts'
import type { Sockets } from '../../dataplane/sock-diag/sockets.ts'
import type { KeptSockets } from '../../net/kept-sockets.ts'
import type { Family } from '../../net/ip.ts'
import { addTraffic } from '../../core/traffic.ts'
import type { RouteTraffic } from '../../core/traffic.ts'
import { ServiceHealthServer } from '../../observe/http/service-health-server.ts'
import type { InspectedFamily } from '../../observe/inspection/inspected-family.ts'
import type { TrafficSource } from '../../observe/traffic/traffic-book.ts'
import type { OpenConnectionsReader } from '../modes/mode.ts'
import { runAll } from '../run-all.ts'
import type { Runnable } from '../run-all.ts'

export interface FamilySettings {
  readonly policy: ServingPolicy
  /** With `primary` already replaced by CIDRs. */
  readonly nodePortAddresses: readonly string[]
}

export interface FamilyProxyOptions {
  readonly family: Family
  readonly backend: Backend
  readonly openConnections?: OpenConnectionsReader | undefined
  /** Work of the mode after each successful sync. */
  readonly afterSync: readonly AfterSync[]
  readonly catalog: Catalog
  readonly nodeName: string
  readonly nodeIP: string
  /** What the sync that begins is to be made from; the backend asks for its own part. */
  readonly adopt: () => FamilySettings
  readonly notices: NoticeSink
  readonly localIps: () => readonly string[]
  readonly periods: () => SyncPeriods
  readonly health: ProxyHealth
  /** Whether the proxy may be judged unhealthy: without a health server nobody can tell. */
  readonly hasHealthServer: boolean
  readonly metrics: ProxyMetrics
  readonly safety: TimeToSafety
  readonly drift: DriftMemory
  /** Of all health-check node ports together. */
  readonly maxConnections: number
  readonly sockets?: KeptSockets
  readonly onHealthPortFailure: (port: HealthCheckPort, note: string) => void
  readonly onNotice?: (key: RouteKey, note: string) => void
  readonly tracer: Tracer
  readonly spanNames?: RouteSpanNames
  readonly podWeights?: PodWeights | undefined
  /** Whether this node reaches an endpoint. */
  readonly probe: Probe
  /** Where clients on this node may be told that their connection is too old. */
  readonly oldConnections?: OldConnectionsSettings | undefined
  readonly clock: Clock
  readonly log: Logger
}

interface OldConnectionsSettings {
  readonly isWanted: () => boolean
  readonly openSockets: () => Promise<Sockets>
}

export interface FamilyProxy extends Runnable, TrafficSource, InspectedFamily {
  /** The routes, and why they are as they are. */
  readonly table: RouteKnowledge
  /** Why the data plane does not hold what was planned for the route; undefined: it does, as far as is known. */
  notProgrammed(key: RouteKey): string | undefined
  /** Routes that the data plane did not take although the sync succeeded, and why. Another map after each change. */
  failedRoutes(): ReadonlyMap<RouteKey, string>
  /** What became of the syncs so far; undefined before the first one can begin. */
  syncs(): SyncTally | undefined
  /** Routes that the next sync will be given. */
  pendingRoutes(): number
  /** Calls with the routes that are other ones in the view from now on. Returns the function that ends it. */
  watchView(viewer: (keys: readonly RouteKey[]) => void): () => void
  /** Rules are to be made anew, from other settings. */
  reconfigure(cause: string): void
  /** Waits for the next sync are to be worked out anew. */
  periodsChanged(): void
}

export function familyProxy(options: FamilyProxyOptions): FamilyProxy {
  const { family, backend, nodeName, clock, log, metrics, health } = options
  let settings = options.adopt()
  let listenIps = healthCheckIps(settings.nodePortAddresses, options)
  const care = new EndpointCare({ clock, probe: options.probe, random: Math.random, pods: options.podWeights })
  const table = new RouteTable({ ...options, care, policy: settings.policy, startedAtMs: clock.now() })
  const serviceHealth = new ServiceHealth({ isProxyHealthy: () => !options.hasHealthServer || health.isHealthy })
  let runner: SyncRunner | undefined
  return {
    family,
    table,
    notProgrammed: (key) => runner?.whyNotProgrammed(key),
    failedRoutes: () => runner?.failedRoutes ?? noFailures,
    syncs: () => runner?.tally,
    pendingRoutes: () => table.pendingRoutes,
    watchView: (viewer) => table.watchView(viewer),
    reconfigure: (cause) => runner?.requestReconfigured(cause),
    periodsChanged: () => runner?.periodsChanged(),
    view: () => table.view,
    pieces: async (key) => backend.pieces?.(key),
    inspect: async (key, signal) => backend.inspect?.(key, signal),
    rendered: async () => backend.rendered?.(),
    compare: async (signal) => backend.compare?.(signal),
    ...(backend.trafficEveryMs !== undefined && { trafficEveryMs: backend.trafficEveryMs }),
    trafficNote: () => options.openConnections?.note,
    traffic: (signal) => trafficOf(options, table.view, signal),
    async run(signal) {
      await using owned = backend
      await using server = new ServiceHealthServer({
        nodeName,
        health: serviceHealth,
        listenIps: () => listenIps,
        onListenFailure: options.onHealthPortFailure,
        maxConnections: options.maxConnections,
        sockets: options.sockets,
        log,
      })
      const healthChecks = {
        name: 'service health checks',
        run: ({ view, change }: PendingSync) => {
          serviceHealth.update(view, change)
          return server.sync(serviceHealth.desiredHealthPorts())
        },
      }
      runner = new SyncRunner({
        family,
        backend: owned,
        table,
        health,
        metrics,
        tracer: options.tracer,
        clock,
        log,
        periods: options.periods,
        onBegin() {
          const { nodePortAddresses: before } = settings
          settings = options.adopt()
          table.setPolicy(settings.policy)
          if (settings.nodePortAddresses !== before) listenIps = healthCheckIps(settings.nodePortAddresses, options)
        },
        ...(options.onNotice && { onNotice: options.onNotice }),
        safety: options.safety,
        afterSync: [options.drift.afterSync(), healthChecks, ...options.afterSync],
      })
      const ages = oldConnections(table, options)
      await runAll([runner, care, driftRepair(owned, runner, options), ...(ages ? [ages] : [])], signal)
    },
  }
}

const noFailures: ReadonlyMap<RouteKey, string> = new Map()

/** What the mode has counted, and what it leaves to the kernel's connection table. */
async function trafficOf(
  { backend, openConnections }: FamilyProxyOptions,
  view: NodeView,
  signal: AbortSignal,
): Promise<ReadonlyMap<RouteKey, RouteTraffic>> {
  const counted = (await backend.traffic?.(signal)) ?? new Map<RouteKey, RouteTraffic>()
  const open = await openConnections?.read(view, signal)
  if (open === undefined) return counted
  const keys = new Set([...counted.keys(), ...open.keys()])
  return new Map([...keys].map((key) => [key, addTraffic(counted.get(key), open.get(key))]))
}

function oldConnections(
  table: RouteTable,
  { oldConnections: settings, family, metrics, localIps, clock, log }: FamilyProxyOptions,
): Runnable | undefined {
  if (settings === undefined) return undefined
  return new OldConnections({
    ...settings,
    view: () => table.view,
    watchView: (viewer) => table.watchView(viewer),
    localIps,
    onEnded: (count) => metrics.oldConnectionsEnded(family, count),
    random: Math.random,
    clock,
    log,
  })
}

/** When another program changes our rules, everything is programmed again. */
function driftRepair(
  backend: Backend,
  runner: SyncRunner,
  { family, drift, log }: Pick<FamilyProxyOptions, 'family' | 'drift' | 'log'>,
): Runnable {
  return {
    async run(signal) {
      await backend.watch?.((found) => {
        log.warn('somebody else changed the rules, programming them again', { found })
        drift.noteFound(family, found)
        runner.requestFull(found)
      }, signal)
    },
  }
}

/** Load balancers may ask at every address, unless node ports are open on some addresses only. */
function healthCheckIps(
  texts: readonly string[],
  { family, localIps }: Pick<FamilyProxyOptions, 'family' | 'localIps'>,
): readonly string[] {
  const addresses = nodePortAddresses(texts, family)
  if (addresses.matchesAll) return [family === 'ipv4' ? '0.0.0.0' : '::']
  return matchingAddresses(addresses, localIps())
}
