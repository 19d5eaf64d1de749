/** What a node of a large cluster has to program: thousands of Services of 4 endpoints each. */
import type { JsonObject } from '../../../src/api/json-reader.ts'
import { Catalog } from '../../../src/core/catalog.ts'
import { silentLogger } from '../../../src/core/logger.ts'
import { silentMetrics } from '../../../src/core/proxy-metrics.ts'
import { RouteTable } from '../../../src/core/routing/route-table.ts'
import { silentNotices } from '../../../src/core/routing/service-notices.ts'
import { usualPolicy } from '../../../src/core/routing/serving-policy.ts'
import type { PendingSync } from '../../../src/core/sync/route-source.ts'
import { Intake } from '../../../src/sources/intake.ts'
import { nodeName, serviceObject, sliceObject } from '../core/cluster-objects.ts'
import { nodeIp, testedService } from './places.ts'

export class LargeView {
  readonly #services: number
  readonly #intake: Intake
  readonly #table: RouteTable

  constructor(services: number) {
    const catalog = new Catalog()
    this.#services = services
    this.#intake = new Intake({ catalog, log: silentLogger, metrics: silentMetrics })
    const indexes = Array.from({ length: services }, (_, index) => index)
    const [serviceSink, sliceSink] = [this.#intake.sink('Service'), this.#intake.sink('EndpointSlice')]
    serviceSink.replace(indexes.map((index) => serviceSink.read(withDatagrams(index, serviceObject(index, 1)))))
    sliceSink.replace(indexes.map((index) => sliceSink.read(withDatagrams(index, sliceObject(index, 1)))))
    this.#table = new RouteTable({
      catalog,
      family: 'ipv4',
      nodeName,
      nodeIP: nodeIp,
      policy: usualPolicy,
      notices: silentNotices,
      metrics: silentMetrics,
      startedAtMs: Date.now(),
    })
  }

  takeAll(): PendingSync {
    return this.#table.take({ full: true })
  }

  /** One of the endpoints of a Service is replaced. Each version is another endpoint. */
  takeChange(version: number): PendingSync {
    const index = (version * 7919) % this.#services
    const sink = this.#intake.sink('EndpointSlice')
    sink.upsert(sink.read(withDatagrams(index, sliceObject(index, version, version))))
    return this.#table.take({ full: false })
  }
}

/** The Service that clients ask serves UDP beside TCP. */
function withDatagrams(index: number, object: JsonObject): JsonObject {
  if (index !== testedService) return object
  if ('ports' in object) return { ...object, ports: twice(object['ports']) }
  const spec = object['spec'] as JsonObject
  return { ...object, spec: { ...spec, ports: twice(spec['ports']) } }
}

function twice(ports: unknown): readonly JsonObject[] {
  return (ports as readonly JsonObject[]).flatMap((port) => [port, { ...port, name: 'datagrams', protocol: 'UDP' }])
}
