/** A node's routes in a large cluster, without an API server: for measurements inside one process. */
import { Catalog } from '../../../src/core/catalog.ts'
import { silentLogger } from '../../../src/core/logger.ts'
import { silentMetrics } from '../../../src/core/proxy-metrics.ts'
import { RouteTable } from '../../../src/core/routing/route-table.ts'
import { silentNotices } from '../../../src/core/routing/service-notices.ts'
import { usualPolicy } from '../../../src/core/routing/serving-policy.ts'
import type { ServingPolicy } from '../../../src/core/routing/serving-policy.ts'
import { Intake } from '../../../src/sources/intake.ts'
import { nodeName, serviceObject, sliceObject } from '../core/cluster-objects.ts'

export interface LargeCluster {
  readonly table: RouteTable
  /** Replaces the last endpoint of a Service by one that was never there. */
  moveEndpoint(service: number): void
}

export function largeCluster(services: number, policy: ServingPolicy = usualPolicy): LargeCluster {
  const catalog = new Catalog()
  const intake = new Intake({ catalog, log: silentLogger, metrics: silentMetrics })
  const serviceSink = intake.sink('Service')
  const sliceSink = intake.sink('EndpointSlice')
  const indexes = Array.from({ length: services }, (_, index) => index)
  serviceSink.replace(indexes.map((index) => serviceSink.read(serviceObject(index, 1))))
  sliceSink.replace(indexes.map((index) => sliceSink.read(sliceObject(index, 1))))
  let moves = 0
  return {
    table: new RouteTable({
      catalog,
      family: 'ipv4',
      nodeName,
      nodeIP: '192.0.2.10',
      policy,
      notices: silentNotices,
      metrics: silentMetrics,
      startedAtMs: Date.now(),
    }),
    moveEndpoint(service) {
      moves++
      sliceSink.upsert(sliceSink.read(sliceObject(service, 1 + moves, moves)))
    },
  }
}
