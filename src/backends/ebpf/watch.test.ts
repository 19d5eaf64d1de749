import { afterEach, expect, test } from 'vitest'
import { families } from '../../net/ip.ts'
import type { Family } from '../../net/ip.ts'
import { damageSockets } from './testing/socket-damage.ts'
import { SocketsUnderTest } from './testing/sockets-under-test.ts'

let stop = new AbortController()
afterEach(() => stop.abort())

/** Both families are programmed, look every second, and repair what they find. */
async function watchedSockets() {
  stop = new AbortController()
  const sockets = new SocketsUnderTest()
  for (const family of families) await sockets.sync(family, { full: true })
  const found: Family[] = []
  for (const family of families) {
    const repair = () => {
      found.push(family)
      void sockets.sync(family, { full: true })
    }
    void sockets.backend(family).watch(repair, stop.signal)
  }
  await sockets.clock.advance(5_000)
  return { sockets, found }
}

test('the tables are read for both families at once', async () => {
  const { sockets } = await watchedSockets()
  let reads = 0
  sockets.calls.before = ({ door, method }) => {
    if (door === 'map fl_frontends' && method === 'entries') reads++
  }
  await sockets.clock.advance(60_000)
  expect(reads).toBe(20)
})

test('both hear of what others did within five seconds, whoever of them has read it, and then all is well', async () => {
  for (const delayMs of [0, 999, 1_000, 2_500, 3_000]) {
    const { sockets, found } = await watchedSockets()
    await sockets.clock.advance(delayMs)
    await damageSockets(sockets.node, { kind: 'a node address too much', which: 0, value: 7 })
    await sockets.clock.advance(5_000)
    expect(found.toSorted()).toEqual(families)
    await sockets.clock.advance(60_000)
    expect(found.toSorted()).toEqual(families)
    stop.abort()
  }
})
