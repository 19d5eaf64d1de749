/** Clients on this node get from the programs at their sockets what the nftables mode would have given to their packets. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { silentLogger } from '../../core/logger.ts'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { addressPlans } from '../../core/testing/random-cluster.ts'
import { families, isLoopback } from '../../net/ip.ts'
import { planNftables } from '../nftables/plan.ts'
import type { NftablesState } from '../nftables/settings.ts'
import { endingsOf } from '../nftables/testing/evaluate-packet.ts'
import { describePacket } from '../nftables/testing/packet.ts'
import type { Packet } from '../nftables/testing/packet.ts'
import { packetsFor } from '../nftables/testing/packets.ts'
import { anyState, anySurroundings } from '../nftables/testing/random-node.ts'
import { RecordingTable } from '../nftables/testing/recording-table.ts'
import { replacement } from '../nftables/whole-table.ts'
import { anyClusterSteps, Cluster } from '../testing/random-history.ts'
import { EbpfBackend } from './ebpf-backend.ts'
import { choicesOf } from './testing/hook-model.ts'
import { MemoryNode } from './testing/memory-node.ts'
import { noPackets } from './testing/no-packets.ts'

const never = new AbortController().signal

test.each(families)('what a hook decides is what the table would have decided (%s)', async (family) => {
  const plan = addressPlans[family]
  let decided = 0
  await fc.assert(
    fc.asyncProperty(
      anyClusterSteps(plan),
      anyState(plan),
      anySurroundings(plan),
      async (steps, anyNode, surroundings) => {
        // Hooks need not be told who is a pod of this node; the table knows it by the address here.
        const localTraffic = { kind: 'cidr', cidr: plan.podCidr } as const
        const state: NftablesState = { ...anyNode, settings: { ...anyNode.settings, localTraffic } }
        const { view, change } = new Cluster(plan, steps).takeAll()
        const table = new RecordingTable()
        await table.commit(replacement(planNftables(view, state)), never)
        const ruleset = await table.ruleset()
        const { localIps } = surroundings.node
        const nodePortIps = new Set(state.settings.limitsNodePorts ? state.nodePortIps : localIps)
        const [node, clock] = [new MemoryNode(), new FakeClock()]
        const backend = new EbpfBackend({
          family,
          balancer: node.newBalancer(clock, { families: [family] }),
          packets: noPackets,
          node: () => ({ ownIps: new Set(localIps), nodePortIps }),
          clock,
          log: silentLogger,
        })
        await backend.sync(view, change, never)
        const maps = node.mapsAt('connect4')
        if (maps === undefined) throw new Error('no program runs')

        const strays = packetsFor(view, surroundings)
          .filter(isOfSocketHere)
          .flatMap((packet) => {
            const { destination: ip, port, protocol } = packet
            const isInHostNetns = packet.enters === 'output'
            const socket = { ip, port, protocol: protocol === 'tcp' ? 'TCP' : 'UDP', isInHostNetns, now: 0n } as const
            const choices = choicesOf(maps, socket)
            if (choices.some(({ kind }) => kind === 'pass')) return []
            decided++
            const bySocket = choices.map((choice) => (choice.kind === 'endpoint' ? `to ${choice.address}` : 'rejected'))
            const byPackets = endingsOf(ruleset, surroundings.node, packet).map(({ outcome }) =>
              // The endpoint sees the client itself, and nobody who stands for it.
              outcome.replace(', hidden', ''),
            )
            const [socketText, packetText] = [textOf(bySocket), textOf(byPackets)]
            return socketText === packetText ? [] : [`${describePacket(packet)}: ${socketText}, not ${packetText}`]
          })
        expect(strays).toEqual([])
      },
    ),
    { numRuns: 100, interruptAfterTimeLimit: 30_000 },
  )
  expect(decided).toBeGreaterThan(100)
})

/** At loopback addresses only hooks serve node ports. */
function isOfSocketHere({ enters, inInterface, protocol, destination }: Packet): boolean {
  const isHere = enters === 'output' || inInterface.startsWith('cali')
  return isHere && ['tcp', 'udp'].includes(protocol) && !isLoopback(destination)
}

function textOf(outcomes: readonly string[]): string {
  return [...new Set(outcomes)].sort().join(', ')
}
