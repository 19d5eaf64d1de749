import { expect, test } from 'vitest'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { RecordingLogger } from '../../core/testing/recording-logger.ts'
import type { ForeignChange } from '../../dataplane/nft/nft.ts'
import { watchDrift } from './drift-watch.ts'
import { ProxiedNode } from './testing/proxied-node.ts'

const changed: ForeignChange = { kind: 'changed', what: 'somebody' }
const unknown: ForeignChange = { kind: 'unknown' }
const none: ForeignChange = { kind: 'none' }

/** Watches what `look` sees; tells at which second each drift was reported. */
function watching(look: () => ForeignChange) {
  const clock = new FakeClock()
  const log = new RecordingLogger()
  const looks: number[] = []
  const found: string[] = []
  const stop = new AbortController()
  const foreignChange = async () => {
    looks.push(clock.monotonic() / 1000)
    return look()
  }
  const running = watchDrift(
    { table: { foreignChange }, clock, log },
    (what) => found.push(`${clock.monotonic() / 1000} s: ${what}`),
    stop.signal,
  )
  const end = async () => {
    stop.abort()
    await running
    expect(clock.sleeping).toBe(0)
  }
  return { clock, log, looks, found, end }
}

test('what somebody else changed is reported within seconds', async () => {
  let change: ForeignChange = none
  const { clock, found, end } = watching(() => change)
  await clock.advance(9_000)
  change = changed
  await clock.advance(1_000)
  expect(found).toEqual(['10 s: somebody'])
  await end()
})

test('nothing is reported while nobody changes anything', async () => {
  const { clock, looks, found, end } = watching(() => none)
  await clock.advance(60_000)
  expect({ looks: looks.length, found }).toEqual({ looks: 61, found: [] })
  await end()
})

test('somebody who keeps changing the table is fought less and less often', async () => {
  const { clock, looks, end } = watching(() => changed)
  await clock.advance(300_000)
  expect(looks).toEqual([0, 1, 2, 3, 4, 6, 10, 18, 34, 66, 126, 186, 246])
  await end()
})

test('after peace, the next change is reported within seconds again', async () => {
  let change: ForeignChange = changed
  const { clock, found, end } = watching(() => change)
  await clock.advance(60_000)
  change = none
  await clock.advance(120_000)
  found.length = 0
  change = changed
  await clock.advance(1_000)
  expect(found).toHaveLength(1)
  await end()
})

test('a mere suspicion is reported at most twice a minute, and not at the start', async () => {
  const { clock, found, end } = watching(() => unknown)
  await clock.advance(95_000)
  expect(found.map((line) => line.split(' ')[0])).toEqual(['30', '60', '90'])
  await end()
})

test('a table that cannot be watched is watched again', async () => {
  let isBroken = true
  const { clock, log, found, end } = watching(() => {
    if (isBroken) throw new Error('no socket')
    return changed
  })
  await clock.advance(0)
  expect(log.at('warn').map(({ message }) => message)).toEqual(['cannot watch the nftables table'])
  isBroken = false
  await clock.advance(1_000)
  expect(found).toHaveLength(1)
  await end()
})

test('the backend watches its own table', async () => {
  const node = new ProxiedNode()
  await node.sync([], { full: true })
  const found: string[] = []
  const stop = new AbortController()
  const running = node.backend.watch((what) => found.push(what), stop.signal)
  await node.clock.advance(1_000)
  await node.table.damage([{ do: 'delete table' }], { kind: 'changed', what: 'nft (pid 7)' })
  await node.clock.advance(2_000)
  expect(found).toEqual(['nft (pid 7)'])
  stop.abort()
  await running
})
