import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isSameData } from '../../core/same-data.ts'
import { families } from '../../net/ip.ts'
import { endingsOf } from './testing/evaluate-packet.ts'
import { ExpectedFates } from './testing/expected-fate.ts'
import { fateOf } from './testing/fate.ts'
import { describePacket } from './testing/packet.ts'
import { packetsFor } from './testing/packets.ts'
import {
  addressPlans,
  anyRoutes,
  anyServiceCidrs,
  anyState,
  anySurroundings,
  viewOf,
} from './testing/random-cluster.ts'
import { RecordingTable } from './testing/recording-table.ts'
import { planTable, replacement } from './whole-table.ts'

const never = new AbortController().signal

test.each(families)('every packet of a random cluster goes where its Routes say (%s)', async (family) => {
  const plan = addressPlans[family]
  await fc.assert(
    fc.asyncProperty(
      anyRoutes(plan),
      anyServiceCidrs(plan),
      anyState(plan),
      anySurroundings(plan),
      async (routes, serviceCidrs, state, surroundings) => {
        const view = viewOf(plan, routes, serviceCidrs)
        const { node } = surroundings
        const table = new RecordingTable()
        await table.commit(replacement(planTable(view, state)), never)
        const ruleset = await table.ruleset()
        const expected = new ExpectedFates(view, state, node)
        const strays = packetsFor(view, surroundings)
          .map((packet) => ({
            packet: describePacket(packet),
            went: fateOf(endingsOf(ruleset, node, packet)),
            shouldGo: expected.of(packet),
          }))
          .filter(({ went, shouldGo }) => !isSameData(went, shouldGo))
        expect(strays).toEqual([])
      },
    ),
    { numRuns: 100 },
  )
})
