import { expect, test } from 'vitest'
import type { ObjectKey } from '../../api/records.ts'
import type { RouteKey } from '../route.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { testView } from '../testing/routes.ts'
import { noLinkedCauses } from './cause-links.ts'
import { LastTouched } from './last-touched.ts'

const never = new AbortController().signal

test('a Service was last touched by a sync of its own, or by the last one of everything', async () => {
  const { sync, causes } = touchedServices()
  expect(causes('demo/web')).toEqual([])
  await sync(true, 'first')
  await sync(false, 'slice a', 'demo/web:http/TCP', 'demo/web:dns/UDP')
  await sync(false, 'slice b', 'demo/db/TCP')
  expect(causes('demo/web')).toEqual([[2000, 'slice a']])
  expect(causes('demo/db')).toEqual([[3000, 'slice b']])
  expect(causes('demo/other')).toEqual([[1000, 'first']])
  await sync(true, 'repair')
  expect(causes('demo/web')).toEqual([[4000, 'repair']])
})

test('a Service that changes all the time does not make others forgotten; those longest ago are, beyond so many', async () => {
  const { sync, causes } = touchedServices()
  await sync(true, 'first')
  await sync(false, 'quiet', 'demo/quiet/TCP')
  await sync(false, 'busy', ...Array.from({ length: 30_000 }, () => 'demo/busy/TCP'))
  expect(causes('demo/quiet')).toEqual([[2000, 'quiet']])
  expect(causes('demo/busy')).toEqual([[3000, 'busy']])
  await sync(false, 'many', ...Array.from({ length: 30_000 }, (_, index) => `demo/web-${index}/TCP`))
  expect(causes('demo/quiet')).toEqual([[1000, 'first']])
  expect(causes('demo/web-19999')).toEqual([[1000, 'first']])
  expect(causes('demo/web-20000')).toEqual([[4000, 'many']])
})

function touchedServices() {
  const clock = new FakeClock(0)
  const touched = new LastTouched(clock)
  return {
    sync: async (full: boolean, cause: string, ...keys: string[]) => {
      await clock.advance(1000)
      const change = { full, keys: keys as RouteKey[], causes: [cause] }
      const synced = { view: testView(), change, triggerTimesMs: [], removals: [], needsConntrackCleanup: false }
      await touched.afterSync().run({ ...synced, causedBy: noLinkedCauses }, never)
    },
    causes: (name: string) => touched.of(name as ObjectKey).map(({ atMs, causes: [cause] }) => [atMs, cause]),
  }
}
