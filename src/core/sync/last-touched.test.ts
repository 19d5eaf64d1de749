import { expect, test } from 'vitest'
import type { ObjectKey } from '../../api/records.ts'
import type { RouteKey } from '../route.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { testView } from '../testing/routes.ts'
import { noLinkedCauses } from './cause-links.ts'
import { LastTouched } from './last-touched.ts'

const never = new AbortController().signal

test('a Service was last touched by a sync of its own, or by the last one of everything', async () => {
  const clock = new FakeClock(0)
  const touched = new LastTouched(clock)
  const sync = async (full: boolean, cause: string, ...keys: string[]) => {
    await clock.advance(1000)
    const change = { full, keys: keys as RouteKey[], causes: [cause] }
    const synced = { view: testView(), change, triggerTimesMs: [], removals: [], needsConntrackCleanup: false }
    await touched.afterSync().run({ ...synced, causedBy: noLinkedCauses }, never)
  }
  const causes = (name: string) => touched.of(name as ObjectKey).map(({ atMs, causes: [cause] }) => [atMs, cause])

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
