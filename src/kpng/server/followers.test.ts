/** Who follows a server, as it sees them: real clients over real connections. */
import { expect, test } from 'vitest'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { systemClock } from '../../core/clock.ts'
import { RecordingLogger } from '../../core/testing/recording-logger.ts'
import { parseApiTarget } from '../client/api-target.ts'
import { WatchClient } from '../client/watch-client.ts'
import { sampleService, syncedStore } from '../testing/cluster-samples.ts'
import { rawWatch } from '../testing/raw-watch.ts'
import { testServer } from '../testing/test-server.ts'
import { Followers } from './followers.ts'

test('a client that has not asked for the last change lags behind, until it does', async () => {
  const store = syncedStore()
  await using server = await testServer(store, { pushIntervalMs: 0 })
  using watch = rawWatch(server.address)
  watch.request('node-a')
  await watch.untilSync()
  const [first] = server.followers()
  expect(first).toMatchObject({ node: 'node-a', api: 'local', peer: '127.0.0.1', isConnected: true })
  store.setService(sampleService('default/web', { port: 80 }))
  store.commit()
  await expect.poll(() => server.followers()[0]?.lagMs ?? -1).toBeGreaterThanOrEqual(0)
  watch.request('node-a')
  await watch.untilSync()
  // It has been sent the change, and has not said yet that it took it.
  expect(server.followers()[0]?.revision).toBeLessThan(store.revision)
  watch.request('node-a')
  await expect.poll(() => server.followers()[0]?.lagMs).toBeUndefined()
  expect(server.followers()[0]?.revision).toBe(store.revision)
})

test('a client of Fairlead says what it is, is remembered when it is gone, and is one again when it is back', async () => {
  await using server = await testServer(syncedStore())
  const once = async () => {
    const end = new AbortController()
    const client = new WatchClient({
      target: parseApiTarget(server.address),
      tls: undefined,
      allowsPlaintext: false,
      maxMessageBytes: 1 << 20,
      userAgent: 'fairlead/1.2.3 (nftables)',
      clock: systemClock,
      random: Math.random,
      log: new RecordingLogger(),
    })
    const watch = { api: 'local', node: 'node-b', wantsUnscoped: false } as const
    await client.follow(watch, () => end.abort(), end.signal)
  }
  await once()
  await expect.poll(() => server.followers().map(({ isConnected }) => isConnected)).toEqual([false])
  expect(server.followers()[0]?.userAgent).toMatch(/^fairlead\/1\.2\.3 \(nftables\) grpc-node-js/)
  await once()
  await expect
    .poll(() => server.followers().map(({ node, isConnected }) => [node, isConnected]))
    .toEqual([['node-b', false]])
})

test('who has left is forgotten after an hour, and when thousands have', async () => {
  const clock = new FakeClock()
  const followers = new Followers(clock)
  const origin = { api: 'local', peer: '', userAgent: '' } as const
  const leave = (node: string) => followers.joined({ node, revision: 1, lastContactMs: clock.now() }, origin)()
  leave('a')
  await clock.advance(59 * 60_000)
  leave('b')
  expect(followers.list().map(({ node }) => node)).toEqual(['a', 'b'])
  await clock.advance(60_000)
  expect(followers.list().map(({ node }) => node)).toEqual(['b'])
  for (let i = 0; i < 5_001; i++) leave(`node-${i}`)
  expect(followers.list()).toHaveLength(5_000)
  expect(followers.list()[0]?.node).toBe('node-1')
})
