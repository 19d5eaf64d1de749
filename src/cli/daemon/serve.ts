/** The last stage: everything that runs until the daemon is told to end. */
import { ProxyHealth } from '../../core/health/proxy-health.ts'
import { Readiness } from '../../core/health/readiness.ts'
import { connectionsFor } from '../../http/connection-limit.ts'
import type { Family } from '../../net/ip.ts'
import type { DebugPage } from '../../observe/http/debug/debug-page.ts'
import { TrafficBook } from '../../observe/traffic/traffic-book.ts'
import { OtherModes } from '../cleanup/remove-other-modes.ts'
import { doctorPage } from '../doctor/doctor-page.ts'
import { explainWorld } from '../explain/explain-world.ts'
import type { ModeContext, ModeOnNode } from '../modes/mode.ts'
import { gated } from '../succession/sync-gate.ts'
import { runAll } from '../run-all.ts'
import type { Runnable } from '../run-all.ts'
import { daemonConsole } from './console.ts'
import { consoleTopics } from './console-topics.ts'
import { daemonEvents } from './daemon-events.ts'
import { addDaemonSeries } from './daemon-series.ts'
import { daemonServers } from './daemon-servers.ts'
import { debugPages } from './debug-pages.ts'
import { debugSocket } from './debug-socket.ts'
import type { ClusterParts, Daemon } from './daemon.ts'
import type { UnwrittenSetting } from '../../dataplane/sysctl/conntrack-settings.ts'
import { familyProxies } from './family-proxies.ts'
import { lateSettings } from './machine-settings.ts'
import type { ThisNode } from './node-at-start.ts'
import { nodeGuard } from './node-guard.ts'
import type { NodeSettings } from './node-settings.ts'
import { NotReadyTaint } from './not-ready-taint.ts'
import { openBackends } from './open-backends.ts'
import { proxyMemory } from './proxy-memory.ts'
import { configReload } from './reload/open-reload.ts'
import { stateKeeper } from './saved-start.ts'

/** What the stages before have found out and prepared. */
export interface PreparedNode {
  readonly node: ThisNode
  readonly context: ModeContext
  readonly settings: NodeSettings
  readonly mode: ModeOnNode
  readonly families: readonly Family[]
  /** Settings of the machine that are not as configured. */
  readonly unwritten: readonly UnwrittenSetting[]
}

export async function serve(
  daemon: Daemon,
  cluster: ClusterParts,
  prepared: PreparedNode,
  signal: AbortSignal,
): Promise<void> {
  const { config, running, host, log } = daemon
  const { nodeName, catalog, source } = cluster
  const { mode, families } = prepared
  const events = daemonEvents(source.client, { nodeName, host, log })
  events.started()
  const health = new ProxyHealth({ clock: host.clock, timeoutMs: () => 2 * running.config.syncPeriodMs })
  const readiness = new Readiness({ families, hasObjects: () => catalog.isInitialised, isLive: () => source.isLive() })
  const maxConnections = connectionsFor(await host.process.openFilesLimit())
  const otherModes = new OtherModes({
    mode: mode.name,
    families: families.length,
    takenFrom: cluster.succession.predecessorMode,
    host,
    stateDir: daemon.stateDir,
    pins: daemon.ebpf.pins,
    log,
  })

  const { start } = cluster.tracing
  const { succession } = cluster
  const backends = (await openBackends(mode, families, daemon, start, signal)).map((opened) => ({
    ...opened,
    backend: gated(opened.backend, succession.gate),
  }))
  start.end()
  cluster.firstLists.read()
  const memory = proxyMemory(daemon, cluster, events)
  const parts = { daemon, cluster, prepared, backends, otherModes, health, readiness, events, memory, maxConnections }
  const proxies = familyProxies(parts)
  const book = new TrafficBook({ sources: proxies, clock: host.clock, signal, log })
  addDaemonSeries(book, memory, daemon, cluster)
  const world = () =>
    explainWorld({ catalog, traits: () => mode.traits, settings: prepared.settings.now(), tables: proxies })
  const shown = { daemon, cluster, memory, proxies, book, history: cluster.tracing.history, world }
  const pages = debugPages(shown)
  const reload = configReload({ daemon, prepared, proxies, events, metrics: cluster.metrics })
  const servers = daemonServers({
    ...daemon,
    configz: () => reload.status.configz(),
    pages,
    health,
    readiness,
    detail: () => ({ ...startDetail(cluster), ...source.detail() }),
    metrics: cluster.metrics,
    maxConnections,
    sockets: cluster.succession.sockets,
    onBindFailure: (reason, error) => events.bindFailed(reason, error.message),
  })
  // Who may not read the rules of other programs is not told of them: not on the metrics port.
  const ownPages = [...pages, ownDoctorPage(daemon, nodeName, signal)]
  const socket = await debugSocket({ ...daemon, pages: ownPages })
  const console = daemonConsole({
    daemon,
    door: cluster.consoleDoor,
    nodeName,
    families,
    topics: consoleTopics({ ...shown, prepared, health, readiness, reload: reload.status }),
    pages: ownPages,
    sockets: succession.sockets,
  })
  const usePodCIDRs = (podCIDRs: readonly string[]) => {
    prepared.settings.usePodCIDRs(podCIDRs)
    // Rules of the kernel do not ask, unless they follow the Node; then they are made by another process.
    if (daemon.mode.carriesTraffic) for (const proxy of proxies) proxy.reconfigure('the pod CIDRs of the Node changed')
  }
  const guard = nodeGuard({ catalog, node: prepared.node, config, health, usePodCIDRs, log })
  const cleaning = mode.replacesOtherModes ? [otherModes] : []
  const others = [
    ...cleaning,
    ...reload.parts,
    ...lateSettings(prepared.unwritten, { daemon, prepared, readiness }),
    ...taintRemoval(daemon, cluster, readiness, (cause) => proxies.forEach((proxy) => proxy.reconfigure(cause))),
    ...stateKeeper(daemon, cluster),
  ]
  const taking = { run: (running: AbortSignal) => succession.run(otherModes.done, running) }
  await runAll(
    [events, guard, ...servers, ...socket, ...console, ...proxies, ...others, taking],
    AbortSignal.any([signal, succession.retired]),
  )
}

function ownDoctorPage(daemon: Daemon, nodeName: string, signal: AbortSignal): DebugPage {
  return doctorPage({
    node: nodeName,
    mode: daemon.config.mode,
    clock: daemon.host.clock,
    signal,
    async examine(examining) {
      const { examineItself } = await import('../doctor/examine-itself.ts')
      return examineItself(daemon, nodeName, examining)
    },
  })
}

function startDetail({ saved, source }: ClusterParts): Readonly<Record<string, unknown>> {
  if (saved.savedAtMs === undefined || source.isLive())
    return { state: source.isLive() ? 'live' : 'waiting for the first list' }
  return { state: 'saved', savedAt: new Date(saved.savedAtMs).toISOString() }
}

function taintRemoval(
  { removesNotReadyTaint, host: { clock }, log }: Daemon,
  { nodeName, catalog, source }: ClusterParts,
  readiness: Readiness,
  askForSync: (cause: string) => void,
): readonly Runnable[] {
  if (!removesNotReadyTaint) return []
  const { client } = source
  if (client === undefined) {
    log.warn('configuration', { warning: '--remove-not-ready-taint has no effect: objects do not come from a cluster' })
    return []
  }
  const isLive = () => source.isLive()
  return [new NotReadyTaint({ client, catalog, nodeName, readiness, isLive, askForSync, clock, log })]
}
