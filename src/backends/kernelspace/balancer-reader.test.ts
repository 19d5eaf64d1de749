import { expect, test } from 'vitest'
import { testBalancer } from '../../dataplane/hcn/testing/load-balancers.ts'
import type { LoadBalancerSettings, LoadBalancerSummary } from '../../dataplane/hcn/hcn.ts'
import { BalancerReader } from './balancer-reader.ts'

const never = new AbortController().signal
const settings = testBalancer({ endpoints: ['b', 'a'], flags: 1 })
const { isSticky: _, mappingFlags: __, flags: ___, ...listed } = settings
const summary: LoadBalancerSummary = { ...listed, id: 'x', endpoints: ['a', 'b'], isDsr: true, isDegraded: false }

/** An HNS with one load balancer, and how often it was read. */
function hnsWith(summaries: readonly LoadBalancerSummary[]) {
  const hns = { ids: ['x'], summaries, settings: settings as LoadBalancerSettings | undefined, reads: 0 }
  const reader = new BalancerReader({
    loadBalancerIds: () => Promise.resolve(hns.ids),
    loadBalancerSummaries: () => Promise.resolve(hns.summaries),
    loadBalancer(id) {
      hns.reads++
      return Promise.resolve(hns.settings && { id, ...hns.settings })
    },
  })
  return { hns, reader }
}

test('a load balancer is read once, as long as it is listed as before', async () => {
  const { hns, reader } = hnsWith([summary])
  for (let time = 0; time < 3; time++)
    expect(await reader.readAll(never)).toEqual([{ id: 'x', settings, isDegraded: false }])
  expect(hns.reads).toBe(1)
  hns.summaries = [{ ...summary, endpoints: ['a'] }]
  hns.settings = { ...settings, endpoints: ['a'] }
  expect(await reader.readAll(never)).toMatchObject([{ settings: { endpoints: ['a'] } }])
  expect(hns.reads).toBe(2)
})

test('one that is degraded need not be read to know that', async () => {
  const { hns, reader } = hnsWith([summary])
  await reader.readAll(never)
  hns.summaries = [{ ...summary, isDegraded: true }]
  expect(await reader.readAll(never)).toEqual([{ id: 'x', settings, isDegraded: true }])
  expect(hns.reads).toBe(1)
})

test.each([
  ['not at all', []],
  ['without what it should say', [{ ...summary, isDsr: false }]],
])('one that HNS lists %s is read once, too', async (_how, summaries) => {
  const { hns, reader } = hnsWith(summaries)
  for (let time = 0; time < 3; time++) expect(await reader.readAll(never)).toMatchObject([{ settings }])
  expect(hns.reads).toBe(1)
  expect(reader.isListedAs('x', settings, summaries[0])).toBe(true)
  // How it was listed says nothing once it has changed.
  reader.forget('x')
  expect(reader.isListedAs('x', settings, summaries[0])).toBe(false)
})

test('one without port mappings is no load balancer', async () => {
  const { hns, reader } = hnsWith([summary])
  hns.settings = undefined
  expect(await reader.readAll(never)).toEqual([])
})

test('one that was written need not be read, and one that is gone is forgotten', async () => {
  const { hns, reader } = hnsWith([summary])
  reader.remember('x', settings)
  await reader.readAll(never)
  expect(hns.reads).toBe(0)
  hns.ids = []
  await reader.readAll(never)
  hns.ids = ['x']
  await reader.readAll(never)
  expect(hns.reads).toBe(1)
})
