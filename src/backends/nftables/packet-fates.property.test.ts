import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isSameData } from '../../core/same-data.ts'
import type { Endpoint } from '../../core/route.ts'
import { families } from '../../net/ip.ts'
import { planNftables } from './plan.ts'
import { endingsOf, isTracked } from './testing/evaluate-packet.ts'
import { ExpectedFates } from './testing/expected-fate.ts'
import { fateOf } from './testing/fate.ts'
import { describePacket } from './testing/packet.ts'
import type { Packet } from './testing/packet.ts'
import { packetsFor } from './testing/packets.ts'
import { addressPlans, anyRoutes, anyServiceCidrs, viewOf } from '../../core/testing/random-cluster.ts'
import type { AddressPlan } from '../../core/testing/random-cluster.ts'
import { anyState, anySurroundings } from './testing/random-node.ts'
import { RecordingTable } from './testing/recording-table.ts'
import { replacement } from './whole-table.ts'

const never = new AbortController().signal

function anyCluster(plan: AddressPlan) {
  return fc.record({
    routes: anyRoutes(plan),
    serviceCidrs: anyServiceCidrs(plan),
    state: anyState(plan),
    surroundings: anySurroundings(plan),
  })
}

type Cluster = ReturnType<typeof anyCluster> extends fc.Arbitrary<infer T> ? T : never

async function program(plan: AddressPlan, { routes, serviceCidrs, state, surroundings }: Cluster) {
  const view = viewOf(plan, routes, serviceCidrs)
  const table = new RecordingTable()
  await table.commit(replacement(planNftables(view, state)), never)
  return {
    packets: packetsFor(view, surroundings),
    node: surroundings.node,
    ruleset: await table.ruleset(),
    expected: new ExpectedFates(view, state, surroundings.node),
  }
}

test.each(families)('every packet of a random cluster goes where its Routes say (%s)', async (family) => {
  const plan = addressPlans[family]
  await fc.assert(
    fc.asyncProperty(anyCluster(plan), async (cluster) => {
      const { packets, node, ruleset, expected } = await program(plan, cluster)
      const strays = packets
        .map((packet) => ({
          packet: describePacket(packet),
          went: fateOf(endingsOf(ruleset, node, packet)),
          shouldGo: expected.of(packet),
        }))
        .filter(({ went, shouldGo }) => !isSameData(went, shouldGo))
      expect(strays).toEqual([])
    }),
    { numRuns: 100 },
  )
})

test.each(families)('a client with affinity comes back to its endpoint, by whatever address (%s)', async (family) => {
  const plan = addressPlans[family]
  let clients = 0
  await fc.assert(
    fc.asyncProperty(anyCluster(plan), fc.nat(), async (cluster, chance) => {
      const { packets, node, ruleset, expected } = await program(plan, cluster)
      const first = packets.filter((packet) => (expected.servedBy(packet)?.affinitySeconds ?? 0) > 0)
      const sample = first.filter((_, index) => index % 7 === chance % 7)
      for (const packet of sample) {
        const endings = endingsOf(ruleset, node, packet)
        const ending = endings[chance % endings.length]
        const route = expected.servedBy(packet)
        const [, ip, port] = /^to \[?([^\],]+?)\]?:(\d+)(,|$)/.exec(ending?.outcome ?? '') ?? []
        const isIt = (it: Endpoint) => it.ip === ip && (it.port === Number(port) || packet.port === Number(port))
        const endpoint = route?.endpoints.find(isIt)?.address
        if (ending === undefined || endpoint === undefined || route === undefined) continue
        clients++
        const memory = new Map(ending.remembers.map((set) => [set, new Set([packet.source])]))
        const served = new Map([[route.key, endpoint]])
        const strays = packets
          .filter(({ source }) => source === packet.source)
          .map((next) => ({
            first: describePacket(packet),
            next: describePacket(next),
            went: fateOf(endingsOf(ruleset, node, next, memory)),
            shouldGo: expected.of(next, served),
          }))
          .filter(({ went, shouldGo }) => !isSameData(went, shouldGo))
        expect(strays).toEqual([])
      }
    }),
    { numRuns: 50 },
  )
  expect(clients).toBeGreaterThan(0)
})

test.each(families)('whoever answers a translated packet is translated back (%s)', async (family) => {
  const plan = addressPlans[family]
  let answers = 0
  await fc.assert(
    fc.asyncProperty(anyCluster(plan), async (cluster) => {
      const { packets, node, ruleset } = await program(plan, cluster)
      // A bridge of the node may have an address among those of the pods, and hide clients behind it.
      const localIps = [...node.localIps, plan.bridge]
      const lost = packets.flatMap((packet) =>
        endingsOf(ruleset, node, packet).flatMap(({ outcome }) => {
          const [, source] = /^to \[?([^\],]+?)\]?:\d+(?:,|$)/.exec(outcome) ?? []
          if (source === undefined || localIps.includes(source)) return []
          const clients = outcome.includes('hidden') ? localIps : [packet.source]
          answers += clients.length
          return clients
            .map((destination): Packet => ({
              ...packet,
              enters: 'prerouting',
              inInterface: 'cali9',
              source,
              destination,
            }))
            .filter((answer) => !isTracked(ruleset, { ...node, localIps }, answer))
            .map(describePacket)
        }),
      )
      expect(lost).toEqual([])
    }),
    { numRuns: 50 },
  )
  expect(answers).toBeGreaterThan(0)
})
