import fc from 'fast-check'
import { expect, test } from 'vitest'
import { families } from '../../net/ip.ts'
import { endingsOf } from './testing/evaluate-packet.ts'
import { FilmedTable } from './testing/filmed-table.ts'
import { describePacket } from './testing/packet.ts'
import type { Packet } from './testing/packet.ts'
import { packetsFor } from './testing/packets.ts'
import { ProxiedNode } from './testing/proxied-node.ts'
import { addressPlans, anyRoutes } from '../../core/testing/random-cluster.ts'
import { anyState, anySurroundings } from './testing/random-node.ts'
import type { AddressPlan } from '../../core/testing/random-cluster.ts'
import type { Ruleset } from './testing/ruleset.ts'

function anyScene(plan: AddressPlan) {
  return fc.record({
    old: anyRoutes(plan),
    now: anyRoutes(plan),
    oldState: anyState(plan),
    newState: anyState(plan),
    surroundings: anySurroundings(plan),
  })
}

const ways = ['a partial sync', 'a full sync', 'a new process', 'a new process with other settings'] as const

test.each(families.flatMap((family) => ways.map((way) => ({ family, way }))))(
  'who is served before and after $way is served at every moment of it ($family)',
  async ({ family, way }) => {
    const plan = addressPlans[family]
    await fc.assert(
      fc.asyncProperty(anyScene(plan), async ({ old, now, oldState, newState, surroundings }) => {
        const table = new FilmedTable()
        const before = new ProxiedNode({ plan, table, state: oldState })
        await before.sync(old, { full: true })
        const started = table.moments.at(-1)
        table.moments = []
        const state = way === 'a new process with other settings' ? newState : oldState
        const after = way.startsWith('a new process') ? new ProxiedNode({ plan, table, state }) : before
        await after.sync(now, { full: way !== 'a partial sync' })
        const ended = table.moments.at(-1)
        if (started === undefined || ended === undefined) return
        const isServed = (ruleset: Ruleset, packet: Packet) =>
          endingsOf(ruleset, surroundings.node, packet).every(({ outcome }) => outcome.startsWith('to '))
        const refused = packetsFor(after.view(now), surroundings)
          .filter((packet) => isServed(started, packet) && isServed(ended, packet))
          .filter((packet) => !table.moments.every((moment) => isServed(moment, packet)))
        expect(refused.map(describePacket)).toEqual([])
      }),
      { numRuns: 40 },
    )
  },
)
