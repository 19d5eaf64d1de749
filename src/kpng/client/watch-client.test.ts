import { expect, test } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import type { Clock } from '../../core/clock.ts'
import { silentLogger } from '../../core/logger.ts'
import { TemporaryFolder } from '../../sources/kube/testing/temporary-folder.ts'
import { sampleService, syncedStore } from '../testing/cluster-samples.ts'
import { localBind } from '../testing/local-bind.ts'
import { testServer } from '../testing/test-server.ts'
import { WatchClient } from './watch-client.ts'

const patiently = { timeout: 20_000, interval: 10 }

test('who applies a state is not given the next one before it is done, also when the server goes meanwhile', async () => {
  await using folder = await TemporaryFolder.make()
  const bind = localBind(folder.path)
  const store = syncedStore()
  const server = await testServer(store, { bind })
  let tries = 0
  const clock: Clock = {
    ...systemClock,
    sleep(ms, signal) {
      tries++
      return systemClock.sleep(ms, signal)
    },
  }
  const client = new WatchClient({
    target: server.address,
    tls: undefined,
    allowsPlaintext: false,
    maxMessageBytes: 4 << 20,
    clock,
    random: () => 0,
    log: silentLogger,
  })
  const stop = new AbortController()
  let begun = 0
  let finish = () => {}
  const apply = () => {
    begun++
    return new Promise<void>((resolve) => (finish = resolve))
  }
  const following = client.follow({ api: 'local', node: 'node-a', wantsUnscoped: false }, apply, stop.signal)
  await expect.poll(() => begun, patiently).toBe(1)
  finish()
  await expect.poll(() => client.status().isConnected, patiently).toBe(true)
  store.setService(sampleService('default/web'))
  await expect.poll(() => begun, patiently).toBe(2)

  await server[Symbol.asyncDispose]()
  await expect.poll(() => client.status().isConnected, patiently).toBe(false)
  expect(tries).toBe(0)
  finish()
  await expect.poll(() => tries, patiently).toBeGreaterThan(0)
  await using again = await testServer(store, { bind })
  await expect.poll(() => begun, patiently).toBe(3)
  finish()
  await expect.poll(() => client.status().isConnected, patiently).toBe(true)
  stop.abort()
  await following
  void again
})
