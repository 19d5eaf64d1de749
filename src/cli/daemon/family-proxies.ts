import type { ProxyConfig } from '../../config/proxy-config.ts'
import type { ProxyHealth } from '../../core/health/proxy-health.ts'
import type { Readiness } from '../../core/health/readiness.ts'
import { serviceOfRoute } from '../../core/route.ts'
import type { ModeAbilities } from '../../core/routing/mode-abilities.ts'
import type { ServingPolicy } from '../../core/routing/serving-policy.ts'
import type { SyncPeriods } from '../../core/sync/sync-loop.ts'
import { userspaceSpanNames } from '../../backends/userspace/span-names.ts'
import { probeEndpoint } from '../../dataplane/probe/probe-endpoint.ts'
import type { Family } from '../../net/ip.ts'
import type { OtherModes } from '../cleanup/remove-other-modes.ts'
import { configuredPolicy } from '../configured-policy.ts'
import type { ModeSettings } from '../modes/mode.ts'
import type { DaemonEvents } from './daemon-events.ts'
import type { ClusterParts, Daemon } from './daemon.ts'
import { familyProxy } from './family-proxy.ts'
import type { FamilyProxy, FamilySettings } from './family-proxy.ts'
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
  readonly readiness: Readiness
  readonly events: DaemonEvents
  readonly memory: ProxyMemory
  readonly maxConnections: number
}

const hourMs = 60 * 60 * 1000
const none: readonly string[] = []

/** One sync loop for each backend, under one policy; what is wrong with a Service is told once, not once per family. */
export function familyProxies(options: FamilyProxiesOptions): readonly FamilyProxy[] {
  const { daemon, cluster, prepared, otherModes, health, readiness, memory, maxConnections } = options
  const { config, running, host, log } = daemon
  const { catalog, nodeName, metrics, tracing } = cluster
  const { context, node } = prepared
  return options.backends.map(({ family, backend, afterSync, openConnections, abilities }) => {
    const adopt = adopting(family, abilities ?? daemon.mode.abilities, options)
    return familyProxy({
      family,
      backend,
      openConnections,
      afterSync: [
        ...afterSync,
        memory.touched.afterSync(),
        otherModes.afterSync(),
        readiness.afterSync(),
        cluster.succession.afterSync(options.backends.length),
        { name: 'collect what the sync has left in memory', isNote: true, run: () => host.process.workDone() },
      ],
      catalog,
      nodeName,
      nodeIP: node.addresses.ips[family],
      adopt() {
        readiness.begins(family)
        return adopt()
      },
      notices: memory.notices,
      safety: memory.safety,
      drift: memory.drift,
      localIps: context.localIps,
      periods: () => syncPeriods(running.config),
      health,
      hasHealthServer: config.healthzBindAddress !== '',
      metrics: metrics.proxy,
      maxConnections,
      sockets: cluster.succession.sockets,
      onHealthPortFailure: (port, note) => options.events.healthPortFailed(port, note),
      onNotice: (key, note) => options.events.notServedEverywhere(serviceOfRoute(key), note),
      tracer: tracing.recorder,
      ...(daemon.mode.name === 'userspace' && { spanNames: userspaceSpanNames }),
      podWeights: cluster.source.podWeights,
      probe: probeEndpoint,
      ...(daemon.mode.abilities.onRequest?.maxConnectionAgeMs !== undefined && {
        oldConnections: {
          isWanted: () => running.config.fairlead.destroyOldConnections,
          openSockets: () => host.openSockets(),
        },
      }),
      clock: host.clock,
      log,
    })
  })
}

/** The same object for as long as the configuration is the same: each sync asks. */
function adopting(family: Family, abilities: ModeAbilities, options: FamilyProxiesOptions): () => FamilySettings {
  const { mode, settings } = options.prepared
  let from: ModeSettings | undefined
  let made: FamilySettings | undefined
  return () => {
    const adopted = settings.adopt(family)
    if (made === undefined || adopted !== from) {
      from = adopted
      made = {
        policy: servingPolicy(adopted.config, abilities, options),
        nodePortAddresses: mode.nodePorts === 'everywhere' ? none : adopted.nodePortAddresses,
      }
    }
    return made
  }
}

function syncPeriods({ minSyncPeriodMs: minMs, syncPeriodMs: retryMs }: ProxyConfig): SyncPeriods {
  return { minMs, retryMs, maxMs: hourMs }
}

function servingPolicy(
  config: ProxyConfig,
  abilities: ModeAbilities,
  { daemon, cluster, prepared }: FamilyProxiesOptions,
): ServingPolicy {
  return {
    ...configuredPolicy(config, abilities),
    allowLoopback: prepared.mode.allowsLoopback,
    endpointRules: daemon.mode.endpointRules,
    algorithm: daemon.algorithm === '' ? undefined : daemon.algorithm,
    apiServers: cluster.source.apiServers,
  }
}
