import { expect, test } from 'vitest'
import type { ObjectKey } from '../../api/records.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { testEndpoint, testRoute } from '../testing/routes.ts'
import { EndpointCare } from './endpoint-care.ts'

const web = 'shop/web' as ObjectKey

async function notices(count: number) {
  const clock = new FakeClock()
  const care = new EndpointCare({ clock, probe: async () => 'no answer', random: () => 0.5 })
  const stop = new AbortController()
  const running = care.run(stop.signal)
  const endpoints = Array.from({ length: count }, (_, index) => testEndpoint(`10.0.0.${index + 1}`, 80))
  care.routed(web, { traffic: { healthCheck: { kind: 'tcp' } } }, [testRoute('shop/web', { endpoints })])
  await clock.advance(10_000)
  stop.abort()
  await running
  return care.noticesOf(web).map(({ text }) => text)
}

test('each endpoint that is not reached is named, with the reason', async () => {
  expect(await notices(1)).toEqual([
    'endpoint 10.0.0.1:80 is left out while others are there: this node cannot reach it (no answer)',
  ])
  expect(await notices(10)).toHaveLength(10)
})

test('of very many the first ones are named, and that there are more, however many', async () => {
  const [eleven, fifty] = [await notices(11), await notices(50)]
  expect(eleven).toHaveLength(11)
  expect(eleven.at(-1)).toBe('more endpoints are left out for such a reason; fairlead explain names them')
  expect(fifty).toEqual(eleven)
})
