/** For any history of events, the incremental result equals the one computed from scratch. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ObjectKey, ObjectRecord, Protocol, ServiceRecord } from '../../api/records.ts'
import { objectKey } from '../../api/records.ts'
import { families, familyOf } from '../../net/ip.ts'
import type { Family } from '../../net/ip.ts'
import type { ClaimKind, RefusedClaim } from './address-claims.ts'
import { Catalog } from '../catalog.ts'
import { RouteTable } from './route-table.ts'
import type { Route, RouteKey } from '../route.ts'
import { routesOf } from './router.ts'
import { silentMetrics } from '../proxy-metrics.ts'
import type { NoticeSink, ServiceNotice } from './service-notices.ts'
import { usualPolicy } from './serving-policy.ts'
import type { ServingPolicy } from './serving-policy.ts'
import {
  anyContestedStep,
  anyNode,
  anyService,
  anyServiceCidr,
  anySlice,
  anyStep,
  applyStep,
  contestedService,
  contestedServiceAnywhere,
  contestedSlice,
} from '../testing/histories.ts'

const context = (family: Family, zone: string) => ({
  family,
  zone,
  nodeName: 'here',
  nodeIP: family === 'ipv4' ? '10.200.0.2' : 'fd00:200::2',
  policy: usualPolicy,
})

/** The truth: all objects at once, no history. */
function fromScratch(catalog: Catalog, family: Family): Record<string, Route> {
  const zone = catalog.nodes.get('here' as ObjectKey)?.zone ?? ''
  const routes: Record<string, Route> = {}
  for (const service of catalog.services.values()) {
    const slices = [...catalog.slices.values()].filter((it) => it.serviceName === service.name)
    const refused = claimsOf(service, family).filter((claim) => !isBest(claim, service, catalog, family))
    const place = { ...context(family, zone), nodeIPs: nodeIPsOf(catalog, family) }
    for (const route of routesOf(service, slices, place, refused.map(asRefused))) routes[route.key] = route
  }
  return routes
}

interface NaiveClaim {
  readonly service: ServiceRecord
  readonly kind: ClaimKind
  readonly protocol: Protocol
  /** Absent for a node port, which is open at the node's address. */
  readonly ip?: string
  readonly port: number
  /** Of a range. */
  readonly lastPort?: number
}

/** All ways to reach a Service that its object names. */
function claimsOf(service: ServiceRecord, family: Family): readonly NaiveClaim[] {
  const clusterIP = service.clusterIPs[family]
  if (clusterIP === undefined) return []
  const own = (ip: string) => familyOf(ip) === family && ip !== clusterIP
  const atAddresses = (ports: Pick<NaiveClaim, 'protocol' | 'port' | 'lastPort'>): readonly NaiveClaim[] => [
    { service, kind: 'clusterIP', ip: clusterIP, ...ports },
    ...service.loadBalancerIPs.filter(own).map((ip) => ({ service, kind: 'loadBalancerIP' as const, ip, ...ports })),
    ...service.externalIPs.filter(own).map((ip) => ({ service, kind: 'externalIP' as const, ip, ...ports })),
  ]
  const { first = 1, last = 0 } = service.traffic?.portRange ?? {}
  const protocolsInRange = service.ports.filter(({ port }) => port >= first && port <= last).map((it) => it.protocol)
  return [
    ...service.ports.flatMap(({ protocol, port, nodePort }): readonly NaiveClaim[] => [
      ...atAddresses({ protocol, port }),
      ...(nodePort === 0 ? [] : [{ service, kind: 'nodePort' as const, protocol, port: nodePort }]),
    ]),
    ...[...new Set(protocolsInRange)].flatMap((protocol) => atAddresses({ protocol, port: first, lastPort: last })),
  ]
}

/** Looks at every claim of every Service. */
function isBest(claim: NaiveClaim, service: ServiceRecord, catalog: Catalog, family: Family): boolean {
  const { nodeIP } = context(family, '')
  const nodeIPs = nodeIPsOf(catalog, family)
  const named = new Set<ClaimKind>(['loadBalancerIP', 'externalIP'])
  const places = ({ ip = nodeIP, protocol, port, lastPort = port }: NaiveClaim) =>
    Array.from({ length: lastPort - port + 1 }, (_, index) => `${ip} ${protocol} ${port + index}`)
  const mine = new Set(places(claim))
  const meets = (other: NaiveClaim) => places(other).some((place) => mine.has(place))
  // Its own lists may name an address twice; a load-balancer IP is the better claim of the two.
  const kind =
    claim.ip !== undefined && named.has(claim.kind) && service.loadBalancerIPs.includes(claim.ip)
      ? 'loadBalancerIP'
      : claim.kind
  const order = ['clusterIP', 'nodePort', 'loadBalancerIP', 'externalIP']
  const rank = (it: Pick<NaiveClaim, 'kind' | 'service'>) =>
    [order.indexOf(it.kind), it.service.createdAtMs ?? Infinity, objectKey(it.service)] as const
  const myRank = rank({ kind, service })
  const others = [...catalog.services.values()].filter((other) => other !== service)
  if (named.has(kind) && others.some((other) => other.clusterIPs[family] === claim.ip)) return false
  return others
    .flatMap((other) => claimsOf(other, family))
    .filter((other) => {
      // Node ports and cluster IPs stand above the rest, and do not meet each other.
      if (kind === 'clusterIP' || kind === 'nodePort') return other.kind === kind && meets(other)
      if (other.kind === 'nodePort') return nodeIPs.some((ip) => meets({ ...other, ip }))
      return meets(other)
    })
    .every((other) => {
      const theirs = rank(other)
      for (const [index, value] of myRank.entries()) {
        const rival = theirs[index]
        if (rival !== undefined && rival !== value) return value < rival
      }
      return true
    })
}

function nodeIPsOf(catalog: Catalog, family: Family): readonly string[] {
  return [context(family, '').nodeIP, ...(catalog.nodes.get('here' as ObjectKey)?.otherIps ?? [])]
}

function asRefused({ service: _service, kind, ip, ...ports }: NaiveClaim): RefusedClaim {
  // The router asks for no more than this.
  return { kind, ...ports, ...(ip !== undefined && { ip }), takenAs: kind, owner: objectKey({ name: '' }) }
}

function tables(catalog: Catalog, policy = usualPolicy) {
  return families.map((family) => {
    /** What was last told of each Service with which something is wrong. */
    const told = new Map<ObjectKey, readonly ServiceNotice[]>()
    const notices: NoticeSink = {
      tell: (_, service, list) => void (list.length === 0 ? told.delete(service) : told.set(service, list)),
    }
    const place = { ...context(family, ''), policy }
    const options = { ...place, catalog, notices, metrics: silentMetrics, startedAtMs: 0 }
    return { family, table: new RouteTable(options), programmed: new Map<RouteKey, Route>(), told }
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

test.each([
  ['any Services', anyStep],
  ['Services that want the same addresses', anyContestedStep],
])('programming only what changed gives what programming everything would give: %s', (_, steps) => {
  fc.assert(
    fc.property(fc.array(steps, { maxLength: 40, size: 'max' }), (history) => {
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
        expect(table.noLocalEndpoints.internal).toBe(
          without.filter((it) => it.internal.outside.policy === 'Local').length,
        )
      }
    }),
    { numRuns: 300 },
  )
})

/** Where whoever names an address is asked whose it is, and the API server may be reached at one of the node's. */
const guarded: ServingPolicy = {
  ...usualPolicy,
  apiServers: [{ ip: '192.0.2.1', port: 80 }],
  guard: { ...usualPolicy.guard, mode: 'deny' },
}

test.each([
  ['any Services', { service: anyService, slice: anySlice, policy: usualPolicy }],
  ['Services that want the same addresses', { service: contestedService, slice: contestedSlice, policy: usualPolicy }],
  ['guarded addresses', { service: contestedServiceAnywhere, slice: contestedSlice, policy: guarded }],
])(
  'the order in which objects arrive, and a second list of the same objects, do not show in the view: %s',
  (_, given) => {
    const { service, slice, policy } = given
    const objects = fc.tuple(
      fc.uniqueArray(service, { selector: objectKey }),
      fc.uniqueArray(slice, { selector: objectKey }),
      fc.uniqueArray(fc.oneof(anyNode, anyServiceCidr), { selector: ({ kind }) => kind }),
    )
    const shuffled = objects.chain(([services, slices, others]) => {
      const records: ObjectRecord[] = [...services, ...slices, ...others]
      return fc.record({
        services: fc.constant(services),
        slices: fc.constant(slices),
        others: fc.constant<readonly ObjectRecord[]>(others),
        events: fc.shuffledSubarray(records, { minLength: records.length }),
        broken: fc.nat({ max: records.length }),
      })
    })
    fc.assert(
      fc.property(shuffled, ({ services, slices, others, events, broken }) => {
        const listed = new Catalog()
        const listedTables = tables(listed, policy)
        for (const other of others) listed.upsert(other)
        listed.replace('Service', services)
        listed.replace('EndpointSlice', slices)

        const streamed = new Catalog()
        const streamedTables = tables(streamed, policy)
        streamed.replace('EndpointSlice', [])
        streamed.replace('Service', [])
        for (const event of events) {
          streamed.upsert(event)
          for (const { table } of streamedTables) table.flush()
        }
        streamed.replace('Service', [...services].reverse())

        // As when lists arrive in pieces, and one of them breaks off and comes again.
        const foreseen = new Catalog()
        const foreseenTables = tables(foreseen, policy)
        for (const event of [...events, ...events.slice(0, broken)]) {
          foreseen.upsert(event)
          for (const { table } of foreseenTables) table.flush()
        }
        for (const { table, told } of foreseenTables) expect([table.view.routesByKey.size, told.size]).toEqual([0, 0])
        foreseen.replace('EndpointSlice', slices)
        foreseen.replace('Service', services.slice(1))
        listed.replace('Service', services.slice(1))
        streamed.replace('Service', services.slice(1))

        for (const [index, { table, told }] of listedTables.entries()) {
          const one = Object.fromEntries(table.take({ full: true }).view.routesByKey)
          const other = streamedTables[index]?.table.take({ full: false }).view.routesByKey
          expect(Object.fromEntries(other ?? [])).toEqual(one)
          const third = foreseenTables[index]?.table.take({ full: false })
          expect(Object.fromEntries(third?.view.routesByKey ?? [])).toEqual(one)
          expect([...(third?.change.keys ?? [])].sort()).toEqual(Object.keys(one).sort())
          expect(streamedTables[index]?.told).toEqual(told)
          expect(foreseenTables[index]?.told).toEqual(told)
        }
      }),
      { numRuns: 200 },
    )
  },
)
