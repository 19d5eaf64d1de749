import fc from 'fast-check'
import { expect, test } from 'vitest'
import { families } from '../../net/ip.ts'
import { anyStep, History } from './testing/history.ts'
import { addressPlans, anyRoutes } from './testing/random-cluster.ts'

test.each(families)('writing only what changed leaves what a first sync would leave (%s)', async (family) => {
  const plan = addressPlans[family]
  await fc.assert(
    fc.asyncProperty(
      anyRoutes(plan),
      fc.array(anyStep(plan), { minLength: 1, maxLength: 8, size: 'max' }),
      async (atStart, steps) => {
        const history = new History(plan, atStart)
        await history.sync(true)
        for (const step of steps) {
          const isFull = await history.apply(step)
          expect((await history.sync(isFull)).failed).toEqual([])
          expect(await history.node.table.contents()).toEqual(await history.fromScratch())
        }
      },
    ),
    { numRuns: 60 },
  )
})
