/** Core and backend are one trace: what a backend does with a change is part of the event that the core was told of. */
import { expect, test } from 'vitest'
import { Catalog } from '../../core/catalog.ts'
import { systemClock } from '../../core/clock.ts'
import { silentLogger } from '../../core/logger.ts'
import { silentMetrics } from '../../core/proxy-metrics.ts'
import { WatchClient } from '../../kpng/client/watch-client.ts'
import { GlobalStore } from '../../kpng/store/global-store.ts'
import { rawWatch } from '../../kpng/testing/raw-watch.ts'
import { testServer } from '../../kpng/testing/test-server.ts'
import { causesHeader } from '../../kpng/wire/causes.ts'
import { recordedTrees, treeLines } from '../../observe/tracing/testing/recorded-trees.ts'
import { Intake } from '../intake.ts'
import { KpngLocalSource } from './local-source.ts'
import { StoreIntake } from './store-intake.ts'

const patiently = { timeout: 20_000, interval: 10 }
const globs = { serviceLabels: [], serviceAnnotations: [], nodeLabels: [], nodeAnnotations: [] }

const web = (port: number) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web', namespace: 'default', uid: 'u', resourceVersion: String(port) },
  spec: {
    type: 'ClusterIP',
    clusterIP: '10.96.0.10',
    clusterIPs: ['10.96.0.10'],
    ipFamilies: ['IPv4'],
    ports: [{ port, protocol: 'TCP', targetPort: 8080 }],
  },
})

const slice = (...addresses: readonly string[]) => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name: 'web-1', namespace: 'default', labels: { 'kubernetes.io/service-name': 'web' } },
  addressType: 'IPv4',
  ports: [{ port: 8080, protocol: 'TCP', name: '' }],
  endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
})

async function coreAndBackend(isSent: boolean) {
  const core = recordedTrees(systemClock)
  const backend = recordedTrees(systemClock)
  const store = new GlobalStore()
  const untold = new Intake({ catalog: new Catalog(), log: silentLogger, metrics: silentMetrics })
  const intake = new StoreIntake({
    store,
    intake: untold,
    globs,
    tracing: { tracer: core.tracer, clock: systemClock, source: 'kubernetes', isSent: () => isSent },
  })
  for (const kind of ['Node', 'ServiceCIDR', 'EndpointSlice', 'Service'] as const) intake.sink(kind).replace([])
  const server = await testServer(store, { tracer: core.tracer })
  const catalog = new Catalog()
  const client = new WatchClient({
    target: server.address,
    tls: undefined,
    allowsPlaintext: false,
    maxMessageBytes: 4 << 20,
    clock: systemClock,
    random: () => 0,
    log: silentLogger,
  })
  const source = new KpngLocalSource({
    client,
    nodeName: 'node-a',
    serviceCidrs: [],
    intake: new Intake({
      catalog,
      log: silentLogger,
      metrics: silentMetrics,
      tracing: { tracer: backend.tracer, clock: systemClock, source: 'kpng' },
    }),
    log: silentLogger,
  })
  const stop = new AbortController()
  const running = source.run(stop.signal)
  await expect.poll(() => catalog.isInitialised, patiently).toBe(true)
  const put = (kind: 'Service' | 'EndpointSlice', object: object) => {
    const sink = intake.sink(kind)
    sink.upsert(sink.read(object))
  }
  const remove = (object: object) => {
    const sink = intake.sink('Service')
    sink.remove(sink.read(object))
  }
  return {
    core,
    backend,
    store,
    server,
    put,
    remove,
    async [Symbol.asyncDispose]() {
      stop.abort()
      await running
      await server[Symbol.asyncDispose]()
    },
  }
}

test('an event of the core has its store and its sending, and the event of the backend, as parts', async () => {
  await using rig = await coreAndBackend(true)
  const { core, backend, put, remove } = rig
  put('Service', web(80))
  await expect.poll(() => backend.named('OnServiceAdd').length, patiently).toBe(1)
  await expect.poll(() => core.named('send').length, patiently).toBe(1)
  const [added] = core.named('OnServiceAdd')
  const [heard] = backend.named('OnServiceAdd')
  const [sent] = core.named('send')
  expect(treeLines(added!, ['changed', 'k8s.service.name', 'fairlead.source'])).toEqual([
    'OnServiceAdd changed=true k8s.service.name=web fairlead.source=kubernetes',
    '  store changed=true',
  ])
  for (const part of [heard, sent])
    expect(part).toMatchObject({ context: { traceId: added!.context.traceId }, parentSpanId: added!.context.spanId })
  expect(sent?.attributes).toMatchObject({ 'k8s.node.name': 'node-a', operations: 2 })
  expect(heard?.attributes).toMatchObject({ 'fairlead.source': 'kpng', 'k8s.service.name': 'web' })

  put('EndpointSlice', slice('10.64.0.1'))
  await expect.poll(() => backend.named('OnEndpointSliceAdd').length, patiently).toBe(1)
  expect(backend.named('OnEndpointSliceAdd')[0]?.parentSpanId).toBe(core.named('OnEndpointSliceAdd')[0]?.context.spanId)
  // Only what differs is an event.
  expect(backend.named('OnServiceUpdate')).toEqual([])

  remove(web(80))
  await expect.poll(() => backend.named('OnServiceDelete').length, patiently).toBe(1)
  expect(backend.named('OnServiceDelete')[0]?.parentSpanId).toBe(core.named('OnServiceDelete')[0]?.context.spanId)
})

test('an event that changes nothing reaches nobody', async () => {
  await using rig = await coreAndBackend(true)
  const { core, put } = rig
  put('Service', web(80))
  put('Service', web(80))
  expect(core.named('OnServiceUpdate').map(({ attributes }) => attributes['changed'])).toEqual([false])
})

test('of a trace that is not sent the backend is not told', async () => {
  await using rig = await coreAndBackend(false)
  const { backend, put } = rig
  put('Service', web(80))
  await expect.poll(() => backend.named('OnServiceAdd').length, patiently).toBe(1)
  expect(backend.named('OnServiceAdd')[0]?.parentSpanId).toBeUndefined()
})

test('sending to many is shown for the first ten', async () => {
  await using rig = await coreAndBackend(true)
  const { core, server, put } = rig
  const watches = Array.from({ length: 20 }, () => rawWatch(server.address, { headers: { [causesHeader]: 'true' } }))
  try {
    for (const [at, watch] of watches.entries()) watch.request(`node-${at}`)
    for (const watch of watches) await watch.untilSync()
    for (const [at, watch] of watches.entries()) watch.request(`node-${at}`)
    put('Service', web(80))
    for (const watch of watches) await watch.untilSync()
    await expect.poll(() => core.named('send').length, patiently).toBe(10)
  } finally {
    for (const watch of watches) watch[Symbol.dispose]()
  }
})
