/**
 * A core and a backend in two processes come to the same routes as one process: every recorded scenario, through the
 * global model, the server, the wire, the client and back into routes.
 */
import { describe, expect, test } from 'vitest'
import { Catalog } from '../src/core/catalog.ts'
import { systemClock } from '../src/core/clock.ts'
import { silentLogger } from '../src/core/logger.ts'
import { silentMetrics } from '../src/core/proxy-metrics.ts'
import type { Route } from '../src/core/route.ts'
import { WatchClient } from '../src/kpng/client/watch-client.ts'
import { GlobalStore } from '../src/kpng/store/global-store.ts'
import { testServer } from '../src/kpng/testing/test-server.ts'
import { families } from '../src/net/ip.ts'
import type { Family } from '../src/net/ip.ts'
import { FileSource } from '../src/sources/file/file-source.ts'
import { Intake } from '../src/sources/intake.ts'
import { KpngLocalSource } from '../src/sources/kpng/local-source.ts'
import { StoreIntake } from '../src/sources/kpng/store-intake.ts'
import { objectPaths, scenarioNames } from './testing/golden-scenarios.ts'
import { scenarioView, viewOf } from './testing/scenario-view.ts'
import { routeEssence } from '../src/core/testing/route-essence.ts'

describe.each(scenarioNames)('%s', (scenario) => {
  test('has the same routes through the API', async () => {
    const catalog = await catalogThroughApi(scenario)
    for (const family of families) {
      const direct = [...(await scenarioView(scenario, family)).routesByKey.values()]
      expect(routesOf(catalog, family).map(routeEssence)).toEqual(direct.map(routeEssence).sort(byKey))
    }
  })
})

async function catalogThroughApi(scenario: string): Promise<Catalog> {
  const quiet = { log: silentLogger, metrics: silentMetrics }
  const store = new GlobalStore()
  const globs = { serviceLabels: [], serviceAnnotations: [], nodeLabels: [], nodeAnnotations: [] }
  const intake = new StoreIntake({ store, globs, intake: new Intake({ catalog: new Catalog(), ...quiet }) })
  await new FileSource({ paths: objectPaths(scenario), intake, clock: systemClock, log: silentLogger }).load()
  await using server = await testServer(store)

  const catalog = new Catalog()
  const client = new WatchClient({
    target: server.address,
    tls: undefined,
    allowsPlaintext: false,
    maxMessageBytes: 4 << 20,
    clock: systemClock,
    random: () => 0.5,
    log: silentLogger,
  })
  const source = new KpngLocalSource({
    client,
    nodeName: 'node1',
    serviceCidrs: [],
    intake: new Intake({ catalog, ...quiet }),
    log: silentLogger,
  })
  const stop = new AbortController()
  const listed = new Promise<void>((resolve) =>
    catalog.subscribe({ changed() {}, listed: (kind) => kind === 'Service' && resolve() }),
  )
  const running = source.run(stop.signal)
  await listed
  stop.abort()
  await running
  return catalog
}

function routesOf(catalog: Catalog, family: Family): readonly Route[] {
  return [...viewOf(catalog, family).routesByKey.values()].sort(byKey)
}

function byKey(left: { readonly key: string }, right: { readonly key: string }): number {
  return left.key < right.key ? -1 : 1
}
