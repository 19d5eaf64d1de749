import { expect, test } from 'vitest'
import type { ObjectKey } from '../../api/records.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { slice } from '../testing/objects.ts'
import { SlowStarts } from './slow-starts.ts'

const web = 'shop/web' as ObjectKey
const slices = (...ips: string[]) => [slice('shop/web-1', 'web', ips)]

function given() {
  const clock = new FakeClock()
  const steps: string[] = []
  const starts = new SlowStarts({ clock, onStep: (service) => steps.push(`${service} at ${clock.monotonic()}`) })
  const weights = (...ips: string[]) => {
    const weigh = starts.of(web, 30_000, slices(...ips))
    return weigh && ips.map((ip) => weigh(2, ip))
  }
  return { clock, starts, steps, weights }
}

test('endpoints that were there at our start have their full share', () => {
  expect(given().weights('10.0.0.1', '10.0.0.2')).toBeUndefined()
})

test('the share of a new one is a curve: a tenth more every tenth of the time', async () => {
  const { clock, weights } = given()
  weights('10.0.0.1')
  const curve = []
  for (let second = 0; second <= 30; second += 3) {
    curve.push(weights('10.0.0.1', '10.0.0.2'))
    await clock.advance(3_000)
  }
  expect(curve.slice(0, 9)).toEqual([2, 4, 6, 8, 10, 12, 14, 16, 18].map((part) => [20, part]))
  // It has all that it would have without a slow start.
  expect(curve.slice(9)).toEqual([undefined, undefined])
})

test('each step is told at its time, and nothing after the last', async () => {
  const { clock, starts, steps, weights } = given()
  const stop = new AbortController()
  weights('10.0.0.1')
  const run = starts.run(stop.signal)
  await clock.advance(0)
  weights('10.0.0.1', '10.0.0.2')
  for (let step = 0; step < 12; step++) {
    await clock.advance(3_000)
    weights('10.0.0.1', '10.0.0.2')
  }
  expect(steps).toEqual(Array.from({ length: 9 }, (_, step) => `shop/web at ${(step + 1) * 3_000}`))
  stop.abort()
  await run
})

test('one that comes back starts anew', async () => {
  const { clock, weights } = given()
  weights('10.0.0.1', '10.0.0.2')
  weights('10.0.0.1')
  await clock.advance(60_000)
  expect(weights('10.0.0.1', '10.0.0.2')).toEqual([20, 2])
})

test('a Service that wishes it no more is forgotten', () => {
  const { starts, weights } = given()
  weights('10.0.0.1')
  starts.forget(web)
  expect(weights('10.0.0.1', '10.0.0.2')).toBeUndefined()
})
