/**
 * `node one-change-process.js SERVICES CHANGES`: fills a catalog, changes one endpoint after the other and prints how
 * long each took, from the bytes of the watch event to the new view. One line of JSON.
 */
import { Catalog } from '../../../src/core/catalog.ts'
import { silentLogger } from '../../../src/core/logger.ts'
import { silentMetrics } from '../../../src/core/proxy-metrics.ts'
import { RouteTable } from '../../../src/core/routing/route-table.ts'
import { silentNotices } from '../../../src/core/routing/service-notices.ts'
import { usualPolicy } from '../../../src/core/routing/serving-policy.ts'
import type { Route } from '../../../src/core/route.ts'
import { routesOf } from '../../../src/core/routing/router.ts'
import { Intake } from '../../../src/sources/intake.ts'
import { nodeName, serviceName, serviceObject, sliceObject } from './cluster-objects.ts'
import type { OneChangeResult } from './one-change.ts'
import { processCost } from './process-cost.ts'
import { sharedClockMs } from './shared-clock.ts'
import { watchEvent } from './watch-bytes.ts'

const services = Number(process.argv[2])
const changes = Number(process.argv[3])
const place = { family: 'ipv4', nodeName, nodeIP: '192.0.2.10', policy: usualPolicy, notices: silentNotices } as const
const fromScratchRuns = 7

const catalog = new Catalog()
let routedServices = 0
let version = 1
countRoutedServices()
const intake = new Intake({ catalog, log: silentLogger, metrics: silentMetrics })
const serviceSink = intake.sink('Service')
const sliceSink = intake.sink('EndpointSlice')
const indexes = Array.from({ length: services }, (_, index) => index)
serviceSink.replace(indexes.map((index) => serviceSink.read(serviceObject(index, 1))))
sliceSink.replace(indexes.map((index) => sliceSink.read(sliceObject(index, 1))))
const options = { catalog, metrics: silentMetrics, startedAtMs: Date.now() }
const table = new RouteTable({ ...options, ...place })
const otherTable = new RouteTable({ ...options, ...place, family: 'ipv6', nodeIP: '::1' })
const view: ReadonlyMap<string, Route> = table.take({ full: false }).view.routesByKey
otherTable.take({ full: false })

// The first changes warm the machine up: a daemon has seen its start-up list before the first change comes.
for (const event of randomEvents(200)) changeOne(event)
const events = randomEvents(changes)
const before = processCost()
const results = events.map(changeOne)
const after = processCost()
const result: OneChangeResult = {
  changesMs: results.map(({ ms }) => ms),
  cpuMs: (after.cpuMs - before.cpuMs) / changes,
  mostRoutedServices: Math.max(...results.map(({ routed }) => routed)),
  mostChangedKeys: Math.max(...results.map(({ keys }) => keys)),
  fromScratchMs: Array.from({ length: fromScratchRuns }, routeAll),
}
process.stdout.write(`${JSON.stringify(result)}\n`)

interface WireEvent {
  readonly index: number
  readonly bytes: Buffer
}

function randomEvents(count: number): readonly WireEvent[] {
  return Array.from({ length: count }, () => {
    const index = Math.floor(Math.random() * services)
    version++
    return { index, bytes: Buffer.from(watchEvent('MODIFIED', sliceObject(index, version, version))) }
  })
}

function changeOne({ index, bytes }: WireEvent): {
  readonly ms: number
  readonly routed: number
  readonly keys: number
} {
  const old = routeOf(index)
  routedServices = 0
  const startedMs = sharedClockMs()
  const { object } = JSON.parse(bytes.toString('utf8')) as { readonly object: unknown }
  sliceSink.upsert(sliceSink.read(object))
  const { change } = table.take({ full: false })
  otherTable.take({ full: false })
  const ms = sharedClockMs() - startedMs
  if (routeOf(index) === old) throw new Error(`a change of Service ${index} did not reach the view`)
  return { ms, routed: routedServices, keys: change.keys.length }
}

function routeOf(index: number): unknown {
  const { namespace, name } = serviceName(index)
  return view.get(`${namespace}/${name}:http/TCP`)
}

/** The peer: what a proxy does that works its whole state out again for each change. */
function routeAll(): number {
  const startedMs = sharedClockMs()
  let routes = 0
  for (const [key, service] of catalog.services)
    routes += routesOf(service, catalog.slicesOf(key).values(), { ...place, zone: '' }).length
  const ms = sharedClockMs() - startedMs
  if (routes !== services) throw new Error(`${routes} routes for ${services} Services`)
  return ms
}

/** A table asks the catalog for the slices of each Service that it routes. */
function countRoutedServices(): void {
  const slicesOf = catalog.slicesOf.bind(catalog)
  catalog.slicesOf = (service) => {
    routedServices++
    return slicesOf(service)
  }
}
