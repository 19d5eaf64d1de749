import { isGateOn } from '../../config/feature-gates.ts'
import type { ProxyHealth } from '../../core/health/proxy-health.ts'
import type { ServingPolicy } from '../../core/routing/serving-policy.ts'
import { userspaceSpanNames } from '../../backends/userspace/span-names.ts'
import type { OtherModes } from '../cleanup/remove-other-modes.ts'
import type { DaemonEvents } from './daemon-events.ts'
import type { ClusterParts, Daemon } from './daemon.ts'
import { familyProxy } from './family-proxy.ts'
import type { FamilyProxy } from './family-proxy.ts'
import type { FamilyBackend } from './open-backends.ts'
import type { ProxyMemory } from './proxy-memory.ts'
import type { PreparedNode } from './serve.ts'

export interface FamilyProxiesOptions {
  readonly daemon: Daemon
  readonly cluster: ClusterParts
  readonly prepared: PreparedNode
  readonly backends: readonly FamilyBackend[]
  /** Waits until all families are programmed. */
  readonly otherModes: OtherModes
  readonly health: ProxyHealth
  readonly events: DaemonEvents
  readonly memory: ProxyMemory
  readonly maxConnections: number
}

const hourMs = 60 * 60 * 1000

/** One sync loop for each backend, under one policy; what is wrong with a Service is told once, not once per family. */
export function familyProxies(options: FamilyProxiesOptions): readonly FamilyProxy[] {
  const { daemon, cluster, prepared, otherModes, health, memory, maxConnections } = options
  const { config, host, log } = daemon
  const { catalog, nodeName, metrics, tracing } = cluster
  const { context, node, mode } = prepared
  const policy = servingPolicy(options)
  return options.backends.map(({ family, backend, afterSync, openConnections }) =>
    familyProxy({
      family,
      backend,
      openConnections,
      afterSync: [...afterSync, memory.touched.afterSync(), otherModes.afterSync()],
      catalog,
      nodeName,
      nodeIP: node.addresses.ips[family],
      policy,
      notices: memory.notices,
      safety: memory.safety,
      drift: memory.drift,
      nodePortAddresses: mode.nodePorts === 'everywhere' ? [] : context.nodePortAddresses,
      localIps: context.localIps,
      periods: { minMs: config.minSyncPeriodMs, retryMs: config.syncPeriodMs, maxMs: hourMs },
      health,
      hasHealthServer: config.healthzBindAddress !== '',
      metrics: metrics.proxy,
      maxConnections,
      onHealthPortFailure: (port, note) => options.events.healthPortFailed(port, note),
      tracer: tracing.recorder,
      ...(daemon.mode.name === 'userspace' && { spanNames: userspaceSpanNames }),
      clock: host.clock,
      log,
    }),
  )
}

function servingPolicy({ daemon, cluster, prepared }: FamilyProxiesOptions): ServingPolicy {
  return {
    allowExternalIPs: isGateOn(daemon.config.featureGates, 'AllowServiceExternalIPs'),
    strictSourceRanges: daemon.strictSourceRanges,
    allowLoopback: prepared.mode.allowsLoopback,
    endpointRules: daemon.mode.endpointRules,
    apiServers: cluster.source.apiServers,
  }
}
