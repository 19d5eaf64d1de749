import fc from 'fast-check'
import { expect, test } from 'vitest'
import { addressPlans, anyRoutes } from '../../core/testing/random-cluster.ts'
import { families } from '../../net/ip.ts'
import { planRoute } from './route-plan.ts'
import type { PlannedElement } from './route-plan.ts'
import { anyState } from './testing/random-node.ts'

const withCompanions = (element: PlannedElement): readonly PlannedElement[] => [
  element,
  ...element.companions.flatMap(withCompanions),
]

test.each(families)('a route wants each element once, ranges of ports or not (%s)', (family) => {
  const plan = addressPlans[family]
  let ranges = 0
  fc.assert(
    fc.property(anyRoutes(plan), anyState(plan), (routes, { settings }) => {
      for (const route of routes.values()) {
        ranges += route.ranges?.length ?? 0
        const wanted = planRoute(route, settings).elements.flatMap(withCompanions)
        const names = wanted.map(({ container, key }) => `${container} ${key}`)
        expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
      }
    }),
    { numRuns: 200 },
  )
  expect(ranges).toBeGreaterThan(0)
})
