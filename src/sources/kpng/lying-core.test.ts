/** A core that sends what no API server would let pass: none of it may reach rules, programs or other nodes. */
import { expect, test } from 'vitest'
import { Catalog } from '../../core/catalog.ts'
import { systemClock } from '../../core/clock.ts'
import { silentLogger } from '../../core/logger.ts'
import { silentMetrics } from '../../core/proxy-metrics.ts'
import { LocalState } from '../../kpng/client/local-state.ts'
import { WatchClient } from '../../kpng/client/watch-client.ts'
import { Protocol } from '../../kpng/proto/generated/localv1/api.ts'
import { GlobalStore } from '../../kpng/store/global-store.ts'
import { sampleNode, sampleService, setEndpoints, syncedStore } from '../../kpng/testing/cluster-samples.ts'
import { testServer } from '../../kpng/testing/test-server.ts'
import { Intake } from '../intake.ts'
import { RecordingLogger } from '../kube/testing/recording-logger.ts'
import { KpngGlobalSource } from './global-source.ts'
import { KpngLocalSource } from './local-source.ts'

const evil = '\n;reboot\u001b[31m'
const port = { Protocol: Protocol.TCP, Port: 80, NodePort: 0, TargetPort: 8080, TargetPortName: '' }
const ips = (ip: string) => ({ ClusterIPs: { V4: [ip], V6: [] }, ExternalIPs: { V4: [], V6: [] }, Headless: false })

/** One good Service, and one for each way to be bad. */
function lies(): GlobalStore {
  const store = syncedStore()
  store.setNode(sampleNode('node-a'))
  store.setNode(sampleNode(`node${evil}`))
  store.setService(sampleService('default/good'))
  store.setService(sampleService(`default/name${evil}`))
  store.setService(sampleService(`space${evil}/name`))
  store.setService(sampleService('default/address', { IPs: ips(`10.0.0.1${evil}`) }))
  store.setService(sampleService('default/port', { Ports: [{ Name: evil, ...port }] }))
  store.setService(sampleService('default/range', { IPFilters: [{ SourceRanges: [`10.0.0.0/8${evil}`] }] }))
  store.setService(sampleService('default/label', { Labels: { a: evil } }))
  setEndpoints(store, 'default/good', [{ ip: '10.1.0.1', pod: 'web-0' }], 'one')
  setEndpoints(store, 'default/good', [{ ip: '10.1.0.2', pod: `web${evil}` }], 'two')
  store.commit()
  return store
}

function clientOf(target: string): WatchClient {
  const options = { tls: undefined, allowsPlaintext: false, maxMessageBytes: 4 << 20, clock: systemClock }
  return new WatchClient({ target, ...options, random: () => 0, log: silentLogger })
}

test('a mode behind it programs what is good', async () => {
  await using server = await testServer(lies())
  const catalog = new Catalog()
  const intake = new Intake({ catalog, log: silentLogger, metrics: silentMetrics })
  const log = new RecordingLogger()
  const client = clientOf(server.address)
  const stop = new AbortController()
  const running = new KpngLocalSource({ client, nodeName: 'node-a', serviceCidrs: [], intake, log }).run(stop.signal)
  await expect.poll(() => catalog.isInitialised).toBe(true)
  expect([...catalog.services.keys()]).toEqual(['default/good'])
  expect([...catalog.slices.values()].flatMap(({ endpoints }) => endpoints.map(({ ip }) => ip))).toEqual(['10.1.0.1'])
  // Each is named, on one line.
  expect(log.lines.map(({ fields }) => fields['record'])).toContain('"default/address"')
  expect(log.lines).toHaveLength(7)
  for (const { fields } of log.lines) for (const value of Object.values(fields)) expect(value).not.toContain('\n')
  stop.abort()
  await running
})

test('a relay does not pass the rest on', async () => {
  await using server = await testServer(lies())
  const store = new GlobalStore()
  const log = new RecordingLogger()
  const stop = new AbortController()
  const running = new KpngGlobalSource({ client: clientOf(server.address), store, log }).run(stop.signal)
  await expect.poll(() => store.isSynced).toBe(true)
  expect([...store.servicePaths()]).toEqual(['default/good'])
  expect([...store.nodeNames()]).toEqual(['node-a'])
  expect(store.services.latest('default/good')?.endpoints.map(({ info }) => info.PodName)).toEqual(['web-0'])
  expect(log.messages('warn')).toHaveLength(8)
  stop.abort()
  await running
})

test('programs of your own see what is good, and a bad version of it leaves the good one', async () => {
  const origin = lies()
  await using server = await testServer(origin)
  const log = new RecordingLogger()
  const state = new LocalState(log)
  const stop = new AbortController()
  let applied = 0
  const follow = clientOf(server.address).follow(
    { api: 'local', node: 'node-a', wantsUnscoped: false },
    (changes) => {
      state.apply(changes)
      // The same once more, as after a reconnection: nothing is said twice, and nothing is lost.
      state.apply(changes)
      applied++
    },
    stop.signal,
  )
  await expect.poll(() => applied).toBe(1)
  const services = () => [...state.services()].map(([path, { endpointsByKey }]) => [path, [...endpointsByKey.keys()]])
  expect(services()).toEqual([['default/good', ['web-0']]])
  expect(log.lines).toHaveLength(7)

  origin.setService(sampleService('default/good', { IPs: ips(`10.0.0.9${evil}`) }))
  await expect.poll(() => applied).toBe(2)
  expect(services()).toEqual([['default/good', ['web-0']]])
  const [[, good] = []] = [...state.services()]
  expect(good?.service.IPs?.ClusterIPs?.V4).toEqual(['10.96.0.10'])
  stop.abort()
  await follow
})
