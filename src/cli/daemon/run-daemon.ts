/** The start of the daemon, stage by stage, in the order that docs/architecture.md lists. */
import { Catalog } from '../../core/catalog.ts'
import { within } from '../../core/trace.ts'
import type { SpanAttributes } from '../../core/trace.ts'
import { usualUdpIdleMs } from '../../dataplane/relay/relay.ts'
import type { ModeContext } from '../modes/mode.ts'
import { runWith } from '../run-all.ts'
import { exportTraces } from '../tracing/export-traces.ts'
import { openSource } from './cluster-source.ts'
import { openConsoleDoor } from '../console/console-door.ts'
import type { ClusterParts, Daemon } from './daemon.ts'
import { daemonMetrics } from './daemon-metrics.ts'
import { daemonTracing } from './daemon-tracing.ts'
import type { DaemonTracing } from './daemon-tracing.ts'
import { familiesToProxy } from './families-to-proxy.ts'
import { FirstLists } from './first-lists.ts'
import { applyConntrackSettings, applyOomScore, tellUnwritten } from './machine-settings.ts'
import { modeContext } from './mode-context.ts'
import { findNode, nodeNameOf } from './node-at-start.ts'
import { NodeSettings } from './node-settings.ts'
import { startFromSavedState } from './saved-start.ts'
import { serve } from './serve.ts'
import { aborted } from '../../observe/http/http-server.ts'
import { Succession } from '../succession/succession.ts'
import type { SuccessionOptions } from '../succession/succession.ts'

/** Resolves when the signal has aborted and everything has ended (or, with `isInitOnly`, when the set-up is done). */
export async function runDaemon(daemon: Daemon, signal: AbortSignal): Promise<void> {
  const tracing = daemonTracing(daemon.host.clock)
  try {
    await runTraced(daemon, tracing, signal)
  } catch (error) {
    tracing.start.end(error)
    throw error
  }
}

async function runTraced(daemon: Daemon, tracing: DaemonTracing, signal: AbortSignal): Promise<void> {
  const { config, running, host } = daemon
  const nodeName = nodeNameOf(config.hostnameOverride, host)
  const catalog = new Catalog({
    awaitsNamespaces: config.fairlead.externalIPGuardNamespaces,
    awaitsPods: daemon.readsPodWeights,
  })
  // A container that only prepares the machine need not have the files.
  const consoleDoor = openConsoleDoor(daemon.isInitOnly ? { ...daemon, console: undefined } : daemon)
  const metrics = daemonMetrics(running, host)
  // Ends last: what the others do at their end is part of the traces.
  await using exported = await exportTraces({
    target: daemon.traceTarget,
    recorder: tracing.recorder,
    registry: metrics.registry,
    resource: { 'k8s.node.name': nodeName, 'proxy.mode': daemon.mode.name },
    host,
    log: daemon.log,
  })
  void exported
  const firstLists = new FirstLists(host.clock, signal)
  await using source = await openSource(daemon, { nodeName, catalog, metrics, tracing, firstLists })
  const saved = await startFromSavedState(daemon, catalog, source.podWeights)
  // Ends after all that this process programs has ended.
  await using succession = new Succession()
  const cluster = { nodeName, catalog, metrics, tracing, source, firstLists, saved, succession, consoleDoor }

  daemon.onRunning?.()
  // What follows waits for objects, so the source runs from here on.
  await runWith(
    source,
    async (until) => {
      const { start } = tracing
      const node = await within(start, 'findNode', () => findNode(daemon, cluster, until))
      const settings = new NodeSettings(daemon, node)
      const context = modeContext(daemon, node, cluster, settings)
      start.set({ node: nodeName, ...startAttributes(daemon, context) })
      const mode = daemon.mode.onNode(context)
      const families = await within(start, 'findFamilies', () => familiesToProxy(mode, context, node, until))
      start.set({ 'network.type': families })
      // Nothing of the machine has been touched so far.
      if (mode.isOnlyOne && !daemon.isInitOnly)
        await within(start, 'lock', () => succession.begin(successionOptions(daemon, cluster), until))
      const unwritten = await within(start, 'prepare', async () => {
        const left = await applyConntrackSettings(mode, running.config, context)
        tellUnwritten(left, daemon)
        await mode.prepare(settings.now())
        return left
      })
      if (daemon.isInitOnly) return start.end()
      await applyOomScore(running.config, daemon, until)
      await serve(daemon, cluster, { node, context, settings, mode, families, unwritten }, until)
    },
    succession.endingAfter(signal),
  )
  if (succession.retired.aborted && daemon.takesOver) await untilToldToEnd(daemon, signal)
}

function successionOptions(
  { host, version, mode, takesOver, log }: Daemon,
  { source, firstLists }: ClusterParts,
): SuccessionOptions {
  const { clock } = host
  const sinceMs = Math.round(clock.now() - host.process.uptimeMs())
  return {
    self: { pid: host.process.pid, version, mode: mode.name, sinceMs },
    takesOver,
    // Until then the proxy that runs knows better.
    untilReady: async (signal) => {
      firstLists.read()
      while (!source.isLive()) await clock.sleep(20, signal)
    },
    openLibc: () => host.openLibc(),
    clock,
    log,
  }
}

/** Whoever supervises this process would start it again, and it would take over from its own successor. */
async function untilToldToEnd({ log }: Daemon, signal: AbortSignal): Promise<void> {
  log.info('all is handed over and no connection is left: waiting to be stopped')
  // Nothing else is left that keeps the process alive.
  const alive = setInterval(() => {}, 60_000)
  await aborted(signal)
  clearInterval(alive)
}

function startAttributes({ running: { config }, version }: Daemon, { nodeIp }: ModeContext): SpanAttributes {
  return {
    'proxy.mode': config.mode,
    'proxy.listen_ip': config.bindAddress,
    'proxy.host_ip': nodeIp,
    'sync.period_ms': config.syncPeriodMs,
    'sync.min_period_ms': config.minSyncPeriodMs,
    ...(config.mode === 'userspace' && { 'udp.idle_ms': usualUdpIdleMs }),
    'service.version': version,
  }
}
