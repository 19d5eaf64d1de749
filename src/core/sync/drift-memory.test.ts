import { expect, test } from 'vitest'
import type { Family } from '../../net/ip.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { testView } from '../testing/routes.ts'
import { DriftMemory } from './drift-memory.ts'
import type { PendingSync } from './route-source.ts'

const never = new AbortController().signal

function setUp() {
  const clock = new FakeClock()
  const memory = new DriftMemory(clock)
  const afterSync = (family: Family, ...causes: readonly string[]) => {
    const view = { ...testView(), family }
    const synced = { view, change: { full: true, keys: [], causes } } as Partial<PendingSync> as PendingSync
    return memory.afterSync().run(synced, never)
  }
  return { clock, memory, afterSync }
}

test('drift is repaired by the sync that it caused, and by no other', async () => {
  const { clock, memory, afterSync } = setUp()
  const atMs = clock.now()
  memory.noteFound('ipv4', 'a chain is gone')
  await clock.advance(300)
  await afterSync('ipv4', 'Service demo/web')
  await afterSync('ipv6', 'a chain is gone')
  expect(memory.last).toEqual([
    { family: 'ipv4', found: 'a chain is gone', atMs, times: 1, repairedAfterMs: undefined },
  ])
  await clock.advance(200)
  await afterSync('ipv4', 'a chain is gone', 'Service demo/web')
  expect(memory.last).toMatchObject([{ repairedAfterMs: 500 }])
})

test('what is found again before it is repaired is the same drift, afterwards it is another one', async () => {
  const { memory, afterSync } = setUp()
  for (let times = 0; times < 3; times++) memory.noteFound('ipv4', 'the last sync failed')
  memory.noteFound('ipv6', 'the last sync failed')
  expect([memory.totalOf('ipv4'), memory.totalOf('ipv6')]).toEqual([1, 1])
  await afterSync('ipv4', 'the last sync failed')
  memory.noteFound('ipv4', 'the last sync failed')
  expect(memory.last.map(({ family, times, repairedAfterMs }) => [family, times, repairedAfterMs])).toEqual([
    ['ipv4', 1, undefined],
    ['ipv6', 1, undefined],
    ['ipv4', 3, 0],
  ])
  expect(memory.total).toBe(3)
})

test('only the last hundred are kept', () => {
  const { memory } = setUp()
  for (let number = 1; number <= 250; number++) memory.noteFound('ipv4', `rule ${number} is gone`)
  expect(memory.last).toHaveLength(100)
  expect(memory.last[0]?.found).toBe('rule 250 is gone')
  expect(memory.total).toBe(250)
})
