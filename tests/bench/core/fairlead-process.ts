/**
 * Fairlead as far as the node's view: source, intake, catalog and a route table for each family, compiled as the
 * package is. `node fairlead-process.js URL`. See measured-process.ts for what it prints.
 */
import { once } from 'node:events'
import { Catalog } from '../../../src/core/catalog.ts'
import { silentLogger } from '../../../src/core/logger.ts'
import { silentMetrics } from '../../../src/core/proxy-metrics.ts'
import { RouteTable } from '../../../src/core/routing/route-table.ts'
import { silentNotices } from '../../../src/core/routing/service-notices.ts'
import { usualPolicy } from '../../../src/core/routing/serving-policy.ts'
import { Intake } from '../../../src/sources/intake.ts'
import { loadKubeAccess } from '../../../src/sources/kube/access/kube-access.ts'
import { KubeClient } from '../../../src/sources/kube/kube-client.ts'
import { KubeSource } from '../../../src/sources/kube/kube-source.ts'
import { nodeName } from './cluster-objects.ts'
import type { CompleteView, FinalReport } from './measured-process.ts'
import { processCost } from './process-cost.ts'
import { sharedClockMs } from './shared-clock.ts'

const families = ['ipv4', 'ipv6'] as const

const catalog = new Catalog()
const intake = new Intake({ catalog, log: silentLogger, metrics: silentMetrics })
const changes: (readonly [string, number])[] = []
let routes = 0
let incompleteFamilies = families.length

for (const family of families) {
  const table = new RouteTable({
    catalog,
    family,
    nodeName,
    nodeIP: family === 'ipv4' ? '192.0.2.10' : '::1',
    policy: usualPolicy,
    notices: silentNotices,
    metrics: silentMetrics,
    startedAtMs: Date.now(),
  })
  table.subscribe(({ initialised }) => {
    const { view, change } = table.take({ full: false })
    if (!initialised) {
      const atMs = sharedClockMs()
      for (const key of change.keys) {
        const route = view.routesByKey.get(key)
        changes.push([`${route?.namespace}/${route?.name}`, atMs])
      }
      return
    }
    routes += view.routesByKey.size
    incompleteFamilies--
    if (incompleteFamilies === 0) print({ atMs: sharedClockMs(), entries: routes, ...processCost() })
  })
}

const stop = new AbortController()
await using client = new KubeClient({
  access: await loadKubeAccess({ master: process.argv[2] ?? '' }),
  version: 'bench',
})
const source = new KubeSource({
  client,
  nodeName,
  sinks: {
    Service: intake.sink('Service'),
    EndpointSlice: intake.sink('EndpointSlice'),
    Node: intake.sink('Node'),
    ServiceCIDR: intake.sink('ServiceCIDR'),
  },
})
const running = source.run(stop.signal)
process.stdin.resume()
await once(process.stdin, 'end')
print({ changes, ...processCost() })
stop.abort()
await running

function print(message: CompleteView | FinalReport): void {
  process.stdout.write(`${JSON.stringify(message)}\n`)
}
