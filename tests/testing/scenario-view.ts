/** The brain's view of a recorded scenario. */
import { Catalog } from '../../src/core/catalog.ts'
import { systemClock } from '../../src/core/clock.ts'
import type { NodeView } from '../../src/core/backend.ts'
import { silentLogger } from '../../src/core/logger.ts'
import { silentMetrics } from '../../src/core/proxy-metrics.ts'
import { RouteTable } from '../../src/core/routing/route-table.ts'
import { silentNotices } from '../../src/core/routing/service-notices.ts'
import { usualPolicy } from '../../src/core/routing/serving-policy.ts'
import type { Family } from '../../src/net/ip.ts'
import { FileSource } from '../../src/sources/file/file-source.ts'
import { Intake } from '../../src/sources/intake.ts'
import { objectPaths } from './golden-scenarios.ts'

/** The node's own; it had none of IPv6. */
export const nodeIps = { ipv4: '10.200.0.2', ipv6: '::1' }

export async function scenarioView(scenario: string, family: Family): Promise<NodeView> {
  return viewOf(await scenarioCatalog(scenario), family)
}

async function scenarioCatalog(scenario: string): Promise<Catalog> {
  const catalog = new Catalog()
  const intake = new Intake({ catalog, log: silentLogger, metrics: silentMetrics })
  const source = new FileSource({ paths: objectPaths(scenario), intake, log: silentLogger, clock: systemClock })
  const [problem] = await source.load()
  if (problem !== undefined) throw new Error(`scenario ${scenario}: ${problem}`)
  return catalog
}

/** What the recording node makes of the objects. */
export function viewOf(catalog: Catalog, family: Family): NodeView {
  const table = new RouteTable({
    catalog,
    family,
    nodeName: 'node1',
    nodeIP: nodeIps[family],
    policy: usualPolicy,
    notices: silentNotices,
    metrics: silentMetrics,
    startedAtMs: 0,
  })
  return table.take({ full: true }).view
}
