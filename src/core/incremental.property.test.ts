/** For any history of events, the incremental result equals the one computed from scratch. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { NodeRecord, ObjectKey, ObjectRecord } from '../api/records.ts'
import { objectKey } from '../api/records.ts'
import { families } from '../net/ip.ts'
import type { Family } from '../net/ip.ts'
import { Catalog } from './catalog.ts'
import { RouteTable } from './route-table.ts'
import type { Route, RouteKey } from './route.ts'
import { routesOf } from './router.ts'
import { silentMetrics } from './proxy-metrics.ts'
import { anyNode, anyService, anySlice, anyStep, applyStep } from './testing/histories.ts'

const context = (family: Family, zone: string) => ({
  family,
  zone,
  nodeName: 'here',
  nodeIP: family === 'ipv4' ? '10.200.0.2' : 'fd00:200::2',
  allowExternalIPs: true,
})

/** The truth: all objects at once, no history. */
function fromScratch(catalog: Catalog, family: Family): Record<string, Route> {
  const zone = catalog.nodes.get('here' as ObjectKey)?.zone ?? ''
  const routes: Record<string, Route> = {}
  for (const service of catalog.services.values()) {
    const slices = [...catalog.slices.values()].filter((it) => it.serviceName === service.name)
    for (const route of routesOf(service, slices, context(family, zone))) routes[route.key] = route
  }
  return routes
}

function tables(catalog: Catalog) {
  return families.map((family) => {
    const { nodeName, nodeIP, allowExternalIPs } = context(family, '')
    const options = { catalog, family, nodeName, nodeIP, allowExternalIPs, metrics: silentMetrics, startedAtMs: 0 }
    return { family, table: new RouteTable(options), programmed: new Map<RouteKey, Route>() }
  })
}

/** A backend that trusts `change.keys` and looks at nothing else. */
function sync({ table, programmed }: ReturnType<typeof tables>[number]): void {
  const { view, change } = table.take({ full: false })
  expect(new Set(change.keys).size).toBe(change.keys.length)
  for (const key of change.keys) {
    const route = view.routesByKey.get(key)
    if (route === undefined) programmed.delete(key)
    else programmed.set(key, route)
  }
}

test('programming only what changed gives what programming everything would give', () => {
  fc.assert(
    fc.property(fc.array(anyStep, { maxLength: 40 }), (history) => {
      const catalog = new Catalog()
      catalog.replace('Service', [])
      catalog.replace('EndpointSlice', [])
      const both = tables(catalog)
      for (const step of history) {
        applyStep(catalog, step)
        if (step.do === 'flush') for (const { table } of both) table.flush()
        if (step.do === 'sync') both.forEach(sync)
      }
      both.forEach(sync)
      for (const { family, table, programmed } of both) {
        const truth = fromScratch(catalog, family)
        expect(Object.fromEntries(programmed)).toEqual(truth)
        const without = Object.values(truth).filter((it) => it.hasUsableEndpoint && it.localEndpoints.length === 0)
        expect(table.noLocalEndpoints.internal).toBe(without.filter((it) => it.internalPolicy === 'Local').length)
      }
    }),
    { numRuns: 300 },
  )
})

test('the order in which objects arrive, and a second list of the same objects, do not show in the view', () => {
  const objects = fc.tuple(
    fc.uniqueArray(anyService, { selector: objectKey }),
    fc.uniqueArray(anySlice, { selector: objectKey }),
    fc.option(anyNode, { nil: undefined }),
  )
  const shuffled = objects.chain(([services, slices, node]) => {
    const records: ObjectRecord[] = [...services, ...slices, ...(node === undefined ? [] : [node])]
    return fc.record({
      services: fc.constant(services),
      slices: fc.constant(slices),
      node: fc.constant<NodeRecord | undefined>(node),
      events: fc.shuffledSubarray(records, { minLength: records.length }),
    })
  })
  fc.assert(
    fc.property(shuffled, ({ services, slices, node, events }) => {
      const listed = new Catalog()
      const listedTables = tables(listed)
      if (node !== undefined) listed.upsert(node)
      listed.replace('Service', services)
      listed.replace('EndpointSlice', slices)

      const streamed = new Catalog()
      const streamedTables = tables(streamed)
      streamed.replace('EndpointSlice', [])
      streamed.replace('Service', [])
      for (const event of events) streamed.upsert(event)
      streamed.replace('Service', [...services].reverse())

      for (const [index, { table }] of listedTables.entries()) {
        const one = Object.fromEntries(table.take({ full: true }).view.routesByKey)
        const other = streamedTables[index]?.table.take({ full: false }).view.routesByKey
        expect(Object.fromEntries(other ?? [])).toEqual(one)
      }
    }),
    { numRuns: 200 },
  )
})
