import { expect, test } from 'vitest'
import { KeptTraffic } from './kept-traffic.ts'
import { testEndpoint, testRoute, testView } from './testing/routes.ts'

const [one, two] = [testEndpoint('10.64.0.1', 80), testEndpoint('10.64.0.2', 80)]
const web = testRoute('shop/web', { endpoints: [one, two] })
const counted = (first: number, second: number) =>
  new Map([
    [
      web.key,
      {
        connections: first + second,
        endpoints: new Map([
          [one.address, { connections: first }],
          [two.address, { connections: second }],
        ]),
      },
    ],
  ])

test('what is kept comes on top of what the counters say', () => {
  const kept = new KeptTraffic()
  kept.keep(counted(1, 2))
  kept.keep(counted(3, 0))
  expect(kept.addTo(counted(0, 1))).toEqual(counted(4, 3))
})

test('an endpoint that is gone is forgotten, and what the Service got through it is not', () => {
  const kept = new KeptTraffic()
  kept.keep(counted(1, 2))
  kept.forget([web.key], testView(testRoute('shop/web', { endpoints: [one] })))
  const now = kept.addTo(new Map([[web.key, { connections: 0 }]])).get(web.key)
  expect(now).toEqual({ connections: 3, endpoints: new Map([[one.address, { connections: 1 }]]) })
})

test('a route that is gone begins at zero when it comes back', () => {
  const kept = new KeptTraffic()
  kept.keep(counted(1, 2))
  kept.forget([web.key], testView())
  expect(kept.addTo(counted(0, 0))).toEqual(counted(0, 0))
})

test('what is kept while the counters are read is not counted twice, however often that happens', async () => {
  const kept = new KeptTraffic()
  expect(await kept.withNow(() => Promise.resolve(counted(3, 2)))).toEqual(counted(3, 2))
  const writtenMeanwhile = () => {
    kept.keep(counted(3, 2))
    return Promise.resolve(counted(3, 2))
  }
  expect(await kept.withNow(writtenMeanwhile)).toEqual(counted(3, 2))
  expect(await kept.withNow(() => Promise.resolve(counted(1, 0)))).toEqual(counted(4, 2))
})

test('what came after the last look at a counter that goes is lost, and no number falls', async () => {
  const kept = new KeptTraffic()
  const toKeep = counted(3, 2)
  expect(await kept.withNow(() => Promise.resolve(counted(5, 2)))).toEqual(counted(5, 2))
  kept.keep(toKeep)
  expect(await kept.withNow(() => Promise.resolve(counted(0, 0)))).toEqual(counted(5, 2))
  expect(await kept.withNow(() => Promise.resolve(counted(3, 0)))).toEqual(counted(6, 2))
})

test('a route that goes while the counters are read is not remembered', async () => {
  const kept = new KeptTraffic()
  const goneMeanwhile = () => {
    kept.forget([web.key], testView())
    return Promise.resolve(counted(3, 2))
  }
  expect(await kept.withNow(goneMeanwhile)).toEqual(new Map())
  expect(await kept.withNow(() => Promise.resolve(counted(0, 1)))).toEqual(counted(0, 1))
})
