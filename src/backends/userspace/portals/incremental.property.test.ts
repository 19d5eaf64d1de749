import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Route } from '../../../core/route.ts'
import { testEndpoint, testRoute } from '../../../core/testing/routes.ts'
import { rulesetDifferences } from '../../../../tests/testing/compare-rulesets.ts'
import { placedChains } from './chains.ts'
import { portalsUnderTest, savedRules } from './testing/portals-under-test.ts'

const here = testEndpoint('127.0.0.1', 9, { isLocal: true })
const there = testEndpoint('127.0.0.2', 9)

test('after any history the rules are those that writing everything would leave', async () => {
  const anyRoute = fc
    .record({
      name: fc.constantFrom('a', 'b', 'c'),
      protocol: fc.constantFrom('TCP', 'UDP', 'SCTP'),
      clusterIP: fc.constantFrom('10.96.0.1', '10.96.0.2'),
      externalIPs: fc.constantFrom([], ['198.51.100.7']),
      loadBalancerIPs: fc.constantFrom([], ['203.0.113.7'], ['203.0.113.7', '203.0.113.8']),
      sourceRanges: fc.constantFrom([], ['10.0.0.0/8']),
      internalPolicy: fc.constantFrom('Cluster', 'Local'),
      externalPolicy: fc.constantFrom('Cluster', 'Local'),
      endpoints: fc.constantFrom([], [there], [here, there]),
    })
    .map(({ name, ...facts }) => testRoute(`shop/${name}`, facts))
  const anyView = fc.uniqueArray(anyRoute, { selector: ({ key }) => key })
  const anyHistory = fc.array(anyView, { minLength: 1, maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(anyHistory, async (views) => {
      const { backend, kernel, sync } = portalsUnderTest()
      let known: readonly Route[] = []
      for (const [index, routes] of views.entries()) {
        const keys = new Set([...known, ...routes].map(({ key }) => key))
        await sync(routes, index === 0 ? undefined : [...keys])
        known = routes
      }
      const edited = await savedRules(kernel)
      await sync(known)
      const chains = new Set(placedChains.map(({ chain }) => chain))
      expect(rulesetDifferences(edited, await savedRules(kernel), chains)).toEqual([])
      await backend[Symbol.asyncDispose]()
    }),
    { numRuns: 60 },
  )
})
