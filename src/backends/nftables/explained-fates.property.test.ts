/** What is explained about a packet is what the rules do with it: for random Services on a random node. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ServiceCidrRecord } from '../../api/records.ts'
import { Catalog } from '../../core/catalog.ts'
import { explain } from '../../core/explain/explain.ts'
import type { AskedProtocol, Explanation } from '../../core/explain/explanation.ts'
import type { World } from '../../core/explain/world.ts'
import { silentMetrics } from '../../core/proxy-metrics.ts'
import { RouteTable } from '../../core/routing/route-table.ts'
import { silentNotices } from '../../core/routing/service-notices.ts'
import { usualPolicy } from '../../core/routing/serving-policy.ts'
import { isSameData } from '../../core/same-data.ts'
import { testNode } from '../../core/testing/nodes.ts'
import { addressPlans, anyServiceCidrs, anyServiceObjects, nodeName } from '../../core/testing/random-cluster.ts'
import type { AddressPlan } from '../../core/testing/random-cluster.ts'
import { families, parseCidr } from '../../net/ip.ts'
import { planNftables } from './plan.ts'
import { endingsOf } from './testing/evaluate-packet.ts'
import { fateOf } from './testing/fate.ts'
import type { Fate } from './testing/fate.ts'
import { reduced } from './testing/fraction.ts'
import { describePacket, isLocalAddress } from './testing/packet.ts'
import type { Packet } from './testing/packet.ts'
import { packetsFor } from './testing/packets.ts'
import { anyState, anySurroundings } from './testing/random-node.ts'
import { RecordingTable } from './testing/recording-table.ts'
import { nftablesTraits } from './traits.ts'
import { replacement } from './whole-table.ts'

const never = new AbortController().signal
/** Of this node; the pods of the others are outside of it. */
const podsHere = { ipv4: '10.77.1.0/24', ipv6: '2001:db8:77::1:0/112' } as const

function anyCluster(plan: AddressPlan) {
  return fc.record({
    objects: fc.uniqueArray(anyServiceObjects(plan), { maxLength: 4, size: 'max', selector: (it) => it.service.name }),
    serviceCidrs: anyServiceCidrs(plan),
    // One interface would be that of one pod, which nobody can tell from its address.
    state: anyState(plan).filter(({ settings }) => settings.localTraffic.kind !== 'interface'),
    surroundings: anySurroundings(plan),
  })
}

type Cluster = ReturnType<typeof anyCluster> extends fc.Arbitrary<infer T> ? T : never

function worldOf(plan: AddressPlan, { objects, serviceCidrs, state, surroundings }: Cluster): World {
  const { family } = plan
  const catalog = new Catalog()
  catalog.replace('Node', [testNode({ name: nodeName, ips: [...plan.node], podCIDRs: [podsHere[family]] })])
  catalog.replace('ServiceCIDR', serviceCidrs.map(serviceCidr))
  catalog.replace(
    'Service',
    objects.map(({ service }) => service),
  )
  catalog.replace(
    'EndpointSlice',
    objects.map(({ slice }) => slice),
  )
  const { localTraffic, masqueradeAll, limitsNodePorts } = state.settings
  const table = new RouteTable({
    catalog,
    family,
    nodeName,
    nodeIP: plan.node[0],
    policy: usualPolicy,
    notices: silentNotices,
    metrics: silentMetrics,
    startedAtMs: 0,
  })
  table.take({ full: true })
  const length = family === 'ipv4' ? 32 : 128
  const nodePortAddresses = limitsNodePorts
    ? [...state.nodePortIps, plan.strangers[0]].map((ip) => `${ip}/${length}`)
    : []
  const localIps = () => ['127.0.0.1', '::1', ...surroundings.node.localIps]
  const traffic = { family, localTraffic, masqueradeAll, nodePortAddresses, localIps }
  const traits = { ...nftablesTraits, untrackedPods: state.settings.untrackedRanges ?? [] }
  return { catalog, traits, families: [{ family, table, traffic, detectLocalMode: 'ClusterCIDR' }] }
}

function serviceCidr(text: string): ServiceCidrRecord {
  const cidr = parseCidr(text)
  if (cidr === undefined) throw new Error(`${text} is no CIDR`)
  return { kind: 'ServiceCIDR', name: text, cidrs: [cidr] }
}

/** In the words of the simulator. */
function explainedFate(world: World, packet: Packet): Fate {
  const { source, destination: ip, port } = packet
  const protocol = packet.protocol.toUpperCase() as AskedProtocol
  const answer = explain({ target: { kind: 'address', ip, port, protocol }, from: { kind: 'ip', ip: source } }, world)
  if (!answer.ok) throw new Error(answer.message)
  const [explanation] = answer.explanations
  if (explanation === undefined) throw new Error('nothing was explained')
  return fateIn(explanation)
}

function fateIn({ verdict, answerers, source }: Explanation): Fate {
  if (verdict.kind !== 'forward') return { [words[verdict.kind]]: '1/1' }
  const isHidden = (seen: string) => seen === 'node' && source.place !== 'this node'
  return Object.fromEntries(
    answerers.map(({ address, share, sourceSeen }) => {
      const { over, under } = reduced(share?.part ?? 0, share?.of ?? 0)
      return [`to ${address}${isHidden(sourceSeen) ? ', hidden' : ''}`, `${over}/${under}`]
    }),
  )
}

const words = { reject: 'rejected', drop: 'dropped', untouched: 'untouched' } as const

/** Whether the address of the node is replaced by another of its own does not matter, nor where nobody is served. */
function simplified(fate: Fate, isFromNode: boolean): Fate {
  return Object.fromEntries(
    Object.entries(fate).map(([outcome, chance]) => [
      isFromNode || outcome.startsWith('untouched') ? outcome.replace(', hidden', '') : outcome,
      chance,
    ]),
  )
}

test.each(families)('every packet of a random cluster goes where its explanation says (%s)', async (family) => {
  const plan = addressPlans[family]
  await fc.assert(
    fc.asyncProperty(anyCluster(plan), async (cluster) => {
      const { state, surroundings } = cluster
      const world = worldOf(plan, cluster)
      const view = world.families[0]?.table.view
      if (view === undefined) throw new Error('no family')
      const rules = new RecordingTable()
      await rules.commit(replacement(planNftables(view, state)), never)
      const ruleset = await rules.ruleset()
      const strays = packetsFor(view, surroundings)
        .map((packet) => ({
          packet: describePacket(packet),
          went: simplified(
            fateOf(endingsOf(ruleset, surroundings.node, packet)),
            isLocalAddress(surroundings.node, packet.source),
          ),
          explained: explainedFate(world, packet),
        }))
        .filter(({ went, explained }) => !isSameData(went, explained))
      expect(strays.slice(0, 3)).toEqual([])
    }),
    { numRuns: 60 },
  )
})
