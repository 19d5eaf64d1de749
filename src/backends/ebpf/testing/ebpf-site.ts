/**
 * The eBPF mode for `backend.contract.ts`, with the nftables mode for the packets. A pod of this node goes where the programs
 * at its sockets lead it, and where they leave it alone, where the table does. A restart may put the programs of the
 * new process in the place of the old ones, and say in the configuration who writes now.
 */
import fc from 'fast-check'
import { silentLogger } from '../../../core/logger.ts'
import type { PlannedPiece } from '../../../core/inspection.ts'
import { MemoryBpf } from '../../../dataplane/ebpf/memory-bpf.ts'
import { hostPort } from '../../../net/ip.ts'
import type { Family } from '../../../net/ip.ts'
import { addressPlans } from '../../../core/testing/random-cluster.ts'
import type { Damage as PacketDamage } from '../../nftables/testing/damage.ts'
import { nftablesSite, nftablesWorld } from '../../nftables/testing/nftables-site.ts'
import { RecordingTable } from '../../nftables/testing/recording-table.ts'
import type { NftablesState } from '../../nftables/settings.ts'
import type { BackendSite, World } from '../../testing/backend-site.ts'
import type { Client, Reach } from '../../testing/clients.ts'
import { EbpfBackend } from '../ebpf-backend.ts'
import { layout } from '../layout.ts'
import type { NodeState } from '../settings.ts'
import { changesOfKernel, changesOfMap, countedDoor } from './counted-door.ts'
import { describeTables, frontendsIn, recordsIn } from './describe-tables.ts'
import { choicesOf } from './hook-model.ts'
import { attachTypes } from '../../../dataplane/ebpf/bpf.ts'
import { cgroup, folder, MemoryNode } from './memory-node.ts'
import { anySocketDamage, damageSockets } from './socket-damage.ts'
import type { SocketDamage } from './socket-damage.ts'

export type Damage =
  { readonly to: 'packets'; readonly damage: PacketDamage } | { readonly to: 'sockets'; readonly damage: SocketDamage }

export function ebpfSite(family: Family): BackendSite<Damage, NftablesState> {
  const { damage: packetDamage, restart, writes, ...packets } = nftablesSite(family)
  if (packetDamage === undefined || !('writes' in restart)) throw new Error('the packets cannot be damaged')
  return {
    ...packets,
    name: 'ebpf',
    damage: fc.oneof(
      { weight: 3, arbitrary: anySocketDamage.map((damage) => ({ to: 'sockets', damage }) as const) },
      { weight: 1, arbitrary: packetDamage.map((damage) => ({ to: 'packets', damage }) as const) },
    ),
    writes: new Set([...writes, ...changesOfMap, ...changesOfKernel]),
    splitCommits: new Set(['bpf']),
    restart: {
      writes: (call) => {
        const isOfMap = (changesOfMap as readonly string[]).includes(call.method)
        const isOfKernel = (changesOfKernel as readonly string[]).includes(call.method)
        if ((isOfMap && call.door !== 'map fl_config') || (isOfKernel && call.method !== 'replace'))
          return [`${call.door}: ${call.method}`]
        return restart.writes(call)
      },
    },
    newWorld: () => ebpfWorld(family),
  }
}

function ebpfWorld(family: Family): World<Damage, NftablesState> {
  const packets = nftablesWorld(family, new RecordingTable())
  const { calls } = packets
  const node = new MemoryNode()
  const plan = addressPlans[family]
  return {
    ...packets,
    open: ({ settings, clock }) =>
      new EbpfBackend({
        family,
        balancer: node.newBalancer(clock, { families: [family], door: (bpf) => countedDoor(calls, bpf) }),
        packets: packets.open({ settings, clock }),
        node: (): NodeState => {
          const { settings: fixed, nodePortIps } = settings()
          return {
            ownIps: new Set(plan.node),
            nodePortIps: new Set(fixed.limitsNodePorts ? nodePortIps : plan.node),
          }
        },
        clock,
        log: silentLogger,
      }),
    snapshot: async (options) => [...(await packets.snapshot(options)), ...describeHooks(node)],
    async look() {
      const byPackets = await packets.look()
      return (client) => (client.from === 'pod' ? bySockets(node, client, byPackets) : byPackets(client))
    },
    damage: ({ to, damage }) => (to === 'packets' ? packets.damage(damage) : damageSockets(node, damage)),
    async unexplained(pieces) {
      const ofPackets = pieces.filter((piece) => !isOfSockets(piece))
      return [...(await packets.unexplained(ofPackets)), ...unexplainedSockets(node, pieces.filter(isOfSockets))]
    },
    spoil: (piece) => (isOfSockets(piece) ? spoilSockets(node, piece) : packets.spoil(piece)),
  }
}

function describeHooks(node: MemoryNode): readonly string[] {
  const maps = node.mapsAt('connect4')
  return [
    ...attachTypes.map((attachType) => `${node.kernel.running(cgroup, attachType).length} programs at ${attachType}`),
    ...node.kernel.pinned(folder).map((pin) => `pin ${pin}`),
    ...(maps === undefined ? [] : describeTables(maps)),
  ]
}

function bySockets(node: MemoryNode, client: Client, byPackets: (client: Client) => Reach): Reach {
  const { ip, port, protocol } = client
  const maps = protocol === 'SCTP' ? undefined : node.mapsAt(ip.includes(':') ? 'connect6' : 'connect4')
  if (maps === undefined || protocol === 'SCTP') return byPackets(client)
  const choices = choicesOf(maps, { ip, port, protocol, isInHostNetns: false, now: 0n })
  const reached = new Set<string>()
  for (const choice of choices) {
    if (choice.kind === 'refuse') return []
    const addresses = choice.kind === 'endpoint' ? [choice.address] : byPackets(client)
    if (addresses.length === 0) return []
    for (const address of addresses) reached.add(address)
  }
  return [...reached].sort()
}

function isOfSockets({ where }: PlannedPiece): boolean {
  return where === 'bpf map frontends' || where === 'bpf map endpoints'
}

function unexplainedSockets(node: MemoryNode, pieces: readonly PlannedPiece[]): readonly string[] {
  const maps = node.mapsAt('connect4')
  if (maps === undefined) return []
  const left = pieces.flatMap(({ kind, endpoint }) => (kind === 'endpoint' && endpoint !== undefined ? [endpoint] : []))
  const strangers = recordsIn(maps).flatMap(({ ip, port }) => {
    const at = left.indexOf(hostPort(ip, port))
    if (at >= 0) left.splice(at, 1)
    return at >= 0 ? [] : [`endpoint ${hostPort(ip, port)}`]
  })
  const frontends = frontendsIn(maps)
    .filter(({ id }) => !pieces.some(({ kind, text }) => kind === 'frontend' && text.startsWith(`${id} `)))
    .map(({ id }) => `frontend ${id}`)
  return [...frontends, ...strangers]
}

async function spoilSockets(node: MemoryNode, { kind, text, endpoint }: PlannedPiece): Promise<boolean> {
  using bpf = new MemoryBpf(node.kernel)
  const maps = node.mapsAt('connect4')
  if (maps === undefined) return false
  if (kind === 'frontend') {
    const frontend = frontendsIn(maps).find(({ id }) => text.startsWith(`${id} `))
    if (frontend !== undefined) await (await bpf.openMap(`${folder}/maps/frontends`))?.delete([frontend.key])
    return frontend !== undefined
  }
  // Where several Services have the endpoint, nobody can tell whose record this is.
  const [record, ...others] = recordsIn(maps).filter(({ ip, port }) => hostPort(ip, port) === endpoint)
  if (record === undefined || others.length > 0) return false
  const offset = record.id * layout.endpoint.size + layout.endpoint.lists
  await (await bpf.openMap(`${folder}/maps/endpoints`))?.fill(offset, Uint8Array.of(record.lists ^ 3))
  return true
}
