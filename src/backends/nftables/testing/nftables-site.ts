/**
 * The nftables mode for `backend.contract.ts`. Served is who ends at an endpoint with certainty, when the packet is
 * walked through the table rule by rule. A restart may write the chains and their rules again, in one transaction; it
 * touches no element.
 */
import { silentLogger } from '../../../core/logger.ts'
import { addressPlans } from '../../../core/testing/random-cluster.ts'
import { NftError } from '../../../dataplane/nft/nft.ts'
import type { NftTransaction } from '../../../dataplane/nft/nft.ts'
import type { Family } from '../../../net/ip.ts'
import type { BackendSite, World } from '../../testing/backend-site.ts'
import type { Client, Reach } from '../../testing/clients.ts'
import { DoorCalls } from '../../testing/door-calls.ts'
import { NftablesBackend } from '../nftables-backend.ts'
import type { NftablesState } from '../settings.ts'
import { anyDamage, applyDamage } from './damage.ts'
import type { Damage } from './damage.ts'
import { spoilPiece, unexplainedIn } from './explained-table.ts'
import { describeOperations } from './describe-operations.ts'
import { endingsOf } from './evaluate-packet.ts'
import type { PacketNode } from './packet.ts'
import { anyState } from './random-node.ts'
import { RecordingTable } from './recording-table.ts'
import type { Ruleset } from './ruleset.ts'

export function nftablesSite(family: Family): BackendSite<Damage, NftablesState> {
  const plan = addressPlans[family]
  return {
    name: 'nftables',
    plan,
    settings: {
      settings: {
        family,
        localTraffic: { kind: 'cidr', cidr: plan.podCidr },
        masqueradeAll: false,
        masqueradeMark: '0x00004000',
        limitsNodePorts: true,
      },
      nodePortIps: plan.node.slice(0, 1),
    },
    otherSettings: anyState(plan),
    damage: anyDamage,
    noticesHarmlessChanges: true,
    writes: new Set(['commit']),
    // Chains that nothing leads to are deleted later: a packet may be in them for a moment.
    toleratesFailureOf: ({ method, args: [transaction] }) =>
      method === 'commit' &&
      (transaction as NftTransaction).every(({ do: what }) => what === 'flush chain' || what === 'delete chain'),
    restart: {
      writes: ({ method, args: [transaction] }) =>
        method === 'commit' ? describeOperations((transaction as NftTransaction).filter(changesElements)) : [],
    },
    newWorld: () => nftablesWorld(family, new RecordingTable()),
  }
}

export function nftablesWorld(family: Family, table: RecordingTable): World<Damage, NftablesState> {
  const calls = new DoorCalls()
  const node = { family, localIps: addressPlans[family].node }
  let state: (() => NftablesState) | undefined
  return {
    calls,
    open: ({ settings, clock }) =>
      new NftablesBackend({
        family,
        table: calls.through('nft', table, ['commit', 'check', 'list', 'elements', 'rules']),
        state: (state = settings),
        countsConnections: () => false,
        metrics: { syncFailed() {}, cleanupFailed() {} },
        clock,
        log: silentLogger,
      }),
    snapshot: () => table.contents(),
    async look() {
      const ruleset = await table.ruleset()
      return (client) => reach(ruleset, node, client)
    },
    damage: (damage) => applyDamage(table, damage),
    unexplained: async (pieces) => (state === undefined ? [] : unexplainedIn(table, pieces, state().settings)),
    spoil: (piece) => spoilPiece(table, piece),
    refuse(ip) {
      table.refuses = (transaction) =>
        ip !== undefined && addsElementWith(ip, transaction)
          ? new NftError('refused', `the test refuses ${ip}`)
          : undefined
    },
  }
}

function reach(ruleset: Ruleset, node: PacketNode, { from, source, ip, port, protocol }: Client): Reach {
  const inInterface = from === 'pod' ? 'cali1' : 'eth0'
  const packet = {
    enters: 'prerouting',
    inInterface,
    source,
    destination: ip,
    protocol: protocol.toLowerCase(),
    port,
  } as const
  const endings = endingsOf(ruleset, node, packet).map(({ outcome }) => /^to ([^,]+)/.exec(outcome)?.[1])
  return endings.every((endpoint) => endpoint !== undefined) ? [...new Set(endings)].sort() : []
}

function addsElementWith(ip: string, transaction: NftTransaction): boolean {
  return transaction.some(
    (operation) =>
      operation.do === 'add elements' && operation.elements.some(({ key }) => key.split(' . ').includes(ip)),
  )
}

function changesElements(operation: NftTransaction[number]): boolean {
  return !['add table', 'add set', 'add chain', 'flush chain', 'add rule'].includes(operation.do)
}
