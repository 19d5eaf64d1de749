/**
 * Whatever happens in a cluster, a node behind a core has the same routes as one that watches the API server itself:
 * the state travels as differences, each applied to what was there before.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ObjectKind } from '../../api/records.ts'
import { Catalog } from '../../core/catalog.ts'
import { silentLogger } from '../../core/logger.ts'
import { silentMetrics } from '../../core/proxy-metrics.ts'
import { RouteTable } from '../../core/routing/route-table.ts'
import { silentNotices } from '../../core/routing/service-notices.ts'
import { usualPolicy } from '../../core/routing/serving-policy.ts'
import { ChangeSetReader } from '../../kpng/client/change-set.ts'
import type { ChangeSet } from '../../kpng/client/change-set.ts'
import type { WatchClient } from '../../kpng/client/watch-client.ts'
import { GlobalStore } from '../../kpng/store/global-store.ts'
import { LocalAnswers } from '../../kpng/store/local-answers.ts'
import { LocalCursor } from '../../kpng/store/local-cursor.ts'
import { framesOf, readFrames } from '../../kpng/testing/readable-frames.ts'
import { syncFrame } from '../../kpng/wire/op-frames.ts'
import { families } from '../../net/ip.ts'
import { Intake } from '../intake.ts'
import type { ObjectIntake } from '../kind-sink.ts'
import { KpngLocalSource } from './local-source.ts'
import { StoreIntake } from './store-intake.ts'
import { routeEssence } from '../../core/testing/route-essence.ts'

const nodeName = 'here'
const policy = fc.constantFrom('Cluster', 'Local')
const serviceName = fc.constantFrom('web', 'web-udp')
type Json = Readonly<Record<string, unknown>>

const anyService = fc
  .record({
    name: serviceName,
    type: fc.constantFrom('ClusterIP', 'NodePort'),
    externalIPs: fc.subarray(['192.0.2.1', 'fd00::9']),
    internalTrafficPolicy: policy,
    externalTrafficPolicy: policy,
    sessionAffinity: fc.constantFrom('None', 'ClientIP'),
    clusterIPs: fc.constantFrom(['10.96.0.1'], ['10.96.0.1', 'fd00::1']),
  })
  .map(({ name, clusterIPs, ...spec }) => ({
    metadata: { namespace: 'demo', name },
    spec: {
      ...spec,
      clusterIP: clusterIPs[0],
      clusterIPs,
      ipFamilies: clusterIPs.map((ip) => (ip.includes(':') ? 'IPv6' : 'IPv4')),
      ports: [{ name: 'http', protocol: 'TCP', port: 80, nodePort: spec.type === 'NodePort' ? 30_080 : 0 }],
    },
  }))

const anySlice = fc
  .record({
    name: fc.constantFrom('s1', 's2'),
    service: serviceName,
    isIPv6: fc.boolean(),
    endpoints: fc.uniqueArray(
      fc.record({
        host: fc.integer({ min: 1, max: 4 }),
        nodeName: fc.constantFrom(nodeName, 'there'),
        isInPod: fc.boolean(),
        conditions: fc.constantFrom(
          { ready: true, serving: true, terminating: false },
          { ready: false, serving: true, terminating: true },
          { ready: false, serving: false, terminating: true },
          { ready: false, serving: false, terminating: false },
          {},
        ),
        zones: fc.subarray(['a', 'b']),
        nodes: fc.subarray([nodeName, 'there']),
      }),
      { maxLength: 4, selector: ({ host }) => host },
    ),
  })
  .map(({ name, service, isIPv6, endpoints }) => ({
    // A slice has the addresses of one family for as long as it lives.
    metadata: {
      namespace: 'demo',
      name: `${name}-${isIPv6 ? 6 : 4}`,
      labels: { 'kubernetes.io/service-name': service },
    },
    addressType: isIPv6 ? 'IPv6' : 'IPv4',
    ports: [{ name: 'http', protocol: 'TCP', port: 8080 }],
    endpoints: endpoints.map(({ host, isInPod, zones, nodes, ...rest }) => ({
      ...rest,
      addresses: [`${isIPv6 ? 'fd00:10::' : '10.0.0.'}${name === 's1' ? '' : '1'}${host}`],
      ...(isInPod && { targetRef: { kind: 'Pod', name: `pod-${host}` } }),
      hints: { forZones: zones.map((zone) => ({ name: zone })), forNodes: nodes.map((node) => ({ name: node })) },
    })),
  }))

const anyNode = fc
  .constantFrom('', 'a', 'b')
  .map((zone) => ({ metadata: { name: nodeName, labels: { 'topology.kubernetes.io/zone': zone } } }))

interface Event {
  readonly kind: ObjectKind
  readonly object: Json
  readonly isRemoval: boolean
  /** The peer asks now. */
  readonly isAsked: boolean
}

const anyEvent: fc.Arbitrary<Event> = fc
  .record({
    of: fc.oneof(
      { weight: 3, arbitrary: anyService.map((object) => ({ kind: 'Service' as const, object })) },
      { weight: 5, arbitrary: anySlice.map((object) => ({ kind: 'EndpointSlice' as const, object })) },
      { weight: 1, arbitrary: anyNode.map((object) => ({ kind: 'Node' as const, object })) },
    ),
    isRemoval: fc.nat(4).map((n) => n === 0),
    isAsked: fc.boolean(),
  })
  .map(({ of, ...rest }) => ({ ...of, ...rest, isRemoval: rest.isRemoval && of.kind !== 'Node' }))

test('routes behind a core equal routes without one, after any history', () => {
  fc.assert(
    fc.property(fc.array(anyEvent, { maxLength: 30 }), (events) => {
      const direct = new Catalog()
      const store = new GlobalStore()
      const behind = new Catalog()
      const peer = new Peer(store, behind)
      const intakes: readonly ObjectIntake[] = [intakeInto(direct), storeIntake(store)]
      for (const intake of intakes)
        for (const kind of ['Node', 'EndpointSlice', 'Service'] as const) intake.sink(kind).replace([])
      for (const { kind, object, isRemoval, isAsked } of events) {
        for (const intake of intakes) {
          const sink = intake.sink(kind)
          const item = sink.read(object)
          if (isRemoval) sink.remove(item)
          else sink.upsert(item)
        }
        if (isAsked) peer.ask()
      }
      peer.ask()
      expect(routes(behind)).toEqual(routes(direct))
    }),
    { numRuns: 300 },
  )
})

function intakeInto(catalog: Catalog): Intake {
  return new Intake({ catalog, log: silentLogger, metrics: silentMetrics })
}

function storeIntake(store: GlobalStore): StoreIntake {
  const globs = { serviceLabels: [], serviceAnnotations: [], nodeLabels: [], nodeAnnotations: [] }
  return new StoreIntake({ store, globs, intake: intakeInto(new Catalog()) })
}

/** A node behind the core, without a network in between. */
class Peer {
  readonly #store: GlobalStore
  readonly #cursor: LocalCursor
  readonly #reader = new ChangeSetReader()
  #apply: (changes: ChangeSet) => void = () => {}

  constructor(store: GlobalStore, catalog: Catalog) {
    this.#store = store
    const answers = new LocalAnswers(store)
    this.#cursor = new LocalCursor({ store, answers, wantsUnscoped: true, onExpired: () => {} })
    const client: Pick<WatchClient, 'follow'> = {
      follow: (_watch, apply) => {
        this.#apply = (changes) => void apply(changes)
        return Promise.resolve()
      },
    }
    const source = new KpngLocalSource({
      client: client as WatchClient,
      nodeName,
      serviceCidrs: [],
      intake: intakeInto(catalog),
      log: silentLogger,
    })
    void source.run(new AbortController().signal)
  }

  ask(): void {
    this.#store.commit()
    for (const item of readFrames([...framesOf(this.#cursor.advance(nodeName)), syncFrame])) {
      const changes = this.#reader.push(item)
      if (changes !== undefined) this.#apply(changes)
    }
  }
}

function routes(catalog: Catalog) {
  return families.flatMap((family) => {
    const nodeIP = family === 'ipv4' ? '192.0.2.10' : '2001:db8::10'
    const table = new RouteTable({
      catalog,
      family,
      nodeName,
      nodeIP,
      policy: usualPolicy,
      notices: silentNotices,
      metrics: silentMetrics,
      startedAtMs: 0,
    })
    return [...table.take({ full: true }).view.routesByKey.values()]
      .sort((left, right) => (left.key < right.key ? -1 : 1))
      .map(routeEssence)
  })
}
