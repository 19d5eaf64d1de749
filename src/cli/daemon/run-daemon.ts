/** The start of the daemon, stage by stage, in the order that docs/architecture.md lists. */
import { Catalog } from '../../core/catalog.ts'
import { within } from '../../core/trace.ts'
import type { SpanAttributes } from '../../core/trace.ts'
import { usualUdpIdleMs } from '../../dataplane/relay/relay.ts'
import type { ModeContext } from '../modes/mode.ts'
import { runWith } from '../run-all.ts'
import { exportTraces } from '../tracing/export-traces.ts'
import { openSource } from './cluster-source.ts'
import type { Daemon } from './daemon.ts'
import { daemonMetrics } from './daemon-metrics.ts'
import { daemonTracing } from './daemon-tracing.ts'
import type { DaemonTracing } from './daemon-tracing.ts'
import { familiesToProxy } from './families-to-proxy.ts'
import { applyConntrackSettings, applyOomScore } from './machine-settings.ts'
import { modeContext } from './mode-context.ts'
import { findNode, nodeNameOf } from './node-at-start.ts'
import { NodeSettings } from './node-settings.ts'
import { startFromSavedState } from './saved-start.ts'
import { serve } from './serve.ts'

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
  const catalog = new Catalog()
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
  await using source = await openSource(daemon, { nodeName, catalog, metrics, tracing })
  const saved = await startFromSavedState(daemon, catalog)
  const cluster = { nodeName, catalog, metrics, tracing, source, saved }

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
      await within(start, 'prepare', async () => {
        await applyConntrackSettings(mode, running.config, context)
        await mode.prepare(settings.now())
      })
      if (daemon.isInitOnly) return start.end()
      await applyOomScore(running.config, daemon, until)
      await serve(daemon, cluster, { node, context, settings, mode, families }, until)
    },
    signal,
  )
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
