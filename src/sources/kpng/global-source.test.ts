/** A relay: a core that follows a core. */
import { expect, test } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { silentLogger } from '../../core/logger.ts'
import { WatchClient } from '../../kpng/client/watch-client.ts'
import { GlobalStore } from '../../kpng/store/global-store.ts'
import { sampleNode, sampleService, setEndpoints, syncedStore } from '../../kpng/testing/cluster-samples.ts'
import { localBind } from '../../kpng/testing/local-bind.ts'
import { rawWatch } from '../../kpng/testing/raw-watch.ts'
import { testServer } from '../../kpng/testing/test-server.ts'
import { TemporaryFolder } from '../kube/testing/temporary-folder.ts'
import { KpngGlobalSource } from './global-source.ts'

function originStore() {
  const store = syncedStore()
  store.setNode(sampleNode('node-a', 'z1'))
  store.setService(sampleService('default/web'))
  setEndpoints(store, 'default/web', [{ ip: '10.1.0.1', pod: 'web-0', node: 'node-a' }], 'web-4')
  setEndpoints(store, 'default/web', [{ ip: 'fd00::5', pod: 'web-0', node: 'node-a' }], 'web-6')
  store.commit()
  return store
}

function relayOf(target: string) {
  const store = new GlobalStore()
  const client = new WatchClient({
    target,
    tls: undefined,
    allowsPlaintext: false,
    maxMessageBytes: 4 << 20,
    clock: systemClock,
    random: () => 0,
    log: silentLogger,
  })
  const stop = new AbortController()
  const running = new KpngGlobalSource({ client, store, log: silentLogger }).run(stop.signal)
  return {
    store,
    client,
    async [Symbol.asyncDispose]() {
      stop.abort()
      await running
    },
  }
}

test('a relay tells its clients what its origin tells it', async () => {
  const origin = originStore()
  await using server = await testServer(origin)
  await using relay = relayOf(server.address)
  await using downstream = await testServer(relay.store)
  using watch = rawWatch(downstream.address)
  watch.request('node-a')
  expect(await watch.untilSync()).toEqual([
    'reset',
    '+ default/web 80',
    '+ default/web/web-0 10.1.0.1 local IE',
    '+ default/web/web-0@web-6 fd00::5 local IE',
    'sync',
  ])
  setEndpoints(origin, 'default/web', [{ ip: '10.1.0.2', pod: 'web-0', node: 'node-b' }], 'web-4')
  watch.request('node-a')
  expect(await watch.untilSync()).toEqual(['+ default/web/web-0 10.1.0.2 IE', 'sync'])
  origin.deleteService('default/web')
  for (const source of ['web-4', 'web-6']) origin.deleteSource('default', source)
  watch.request('node-a')
  expect((await watch.untilSync()).slice(-2)).toEqual(['- default/web', 'sync'])
})

test('while the origin is away the relay serves what it knows; an origin that comes back unchanged is no news', async () => {
  await using folder = await TemporaryFolder.make()
  const bind = localBind(folder.path)
  const first = await testServer(originStore(), { bind })
  await using relay = relayOf(first.address)
  await using downstream = await testServer(relay.store)
  using early = rawWatch(downstream.address)
  early.request('node-a')
  const state = await early.untilSync()
  await first[Symbol.asyncDispose]()
  await expect.poll(() => relay.client.status().isConnected).toBe(false)
  using late = rawWatch(downstream.address)
  late.request('node-a')
  expect(await late.untilSync()).toEqual(state)

  const { revision } = relay.store
  await using _second = await testServer(originStore(), { bind })
  await expect.poll(() => relay.client.status().isConnected, { timeout: 20_000 }).toBe(true)
  expect(relay.store.revision).toBe(revision)
})
