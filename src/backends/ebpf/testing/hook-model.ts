/** What the programs do with a connect, in TypeScript: who may a socket get, as the tables are at this moment? */
import { hostPort } from '../../../net/ip.ts'
import { familyOf, isLoopback, isUnspecified } from '../../../net/ip.ts'
import { addressBytes } from '../address-bytes.ts'
import {
  configFlags,
  decodeConfig,
  decodeEndpoint,
  decodeFrontendTarget,
  decodeService,
  encodeFrontendKey,
  layout,
  listBits,
  readListWord,
  readSlotWord,
} from '../layout.ts'
import type { FrontendTarget, MapName, SocketProtocol } from '../layout.ts'

/** A map of a kernel in memory. */
interface ModelMap {
  readonly entriesByKey: ReadonlyMap<string, readonly [key: Uint8Array, value: Uint8Array]>
  readonly bytes: Uint8Array
}

export type ModelMaps = Readonly<Record<MapName, ModelMap>>

export interface SocketClient {
  readonly ip: string
  readonly port: number
  readonly protocol: SocketProtocol
  readonly isInHostNetns: boolean
  /** Of the clock of the programs. */
  readonly now: bigint
}

export type Choice =
  | { readonly kind: 'pass'; readonly why: string }
  | { readonly kind: 'refuse' }
  | { readonly kind: 'endpoint'; readonly address: string; readonly id: number; readonly generation: number }

/** One for each number that may be drawn. */
export function choicesOf(maps: ModelMaps, client: SocketClient): readonly Choice[] {
  const target = findTarget(maps, client)
  if (typeof target === 'string') return [pass(target)]
  const { leaseUntil, flags } = decodeConfig(maps.config.bytes)
  if (leaseUntil < client.now) return [pass('the lease is over')]
  if ((flags & configFlags.hostOnly) !== 0 && !client.isInHostNetns) return [pass('only the host is served')]
  const needed = client.protocol === 'TCP' ? configFlags.tcp : configFlags.udpSend
  if ((flags & needed) === 0) return [pass('the protocol is switched off')]
  const words = decodeService(maps.services.bytes, target.service * layout.service.size)
  if (words.affinitySeconds > 0 && !isLoopback(client.ip) && !isUnspecified(client.ip)) return [pass('affinity')]
  const list = readListWord(words[target.list])
  switch (list.kind) {
    case 'refuse':
      return [client.protocol === 'TCP' ? { kind: 'refuse' } : pass('nobody serves')]
    case 'pass':
      return [pass('the list is empty')]
    case 'endpoints':
      return Array.from({ length: list.count }, (_, place) => endpointAt(maps, list.base + place, target))
    default:
      return list satisfies never
  }
}

function findTarget(maps: ModelMaps, { ip, port, protocol, isInHostNetns }: SocketClient): FrontendTarget | string {
  const atAddress = encodeFrontendKey({ scope: 'address', ip, port, protocol })
  const found = lookUp(maps.frontends, atAddress)
  if (found !== undefined) return decodeFrontendTarget(found, atAddress) ?? 'another key'
  const atNode = encodeFrontendKey({ scope: 'node-port', family: familyOf(ip), port, protocol })
  const nodePort = lookUp(maps.frontends, atNode)
  if (nodePort === undefined) return 'no frontend'
  if (isLoopback(ip) || isUnspecified(ip)) {
    const { flags } = decodeConfig(maps.config.bytes)
    if ((flags & configFlags.loopbackNodePorts) === 0 || !isInHostNetns) return 'the own loopback'
  } else if (lookUp(maps.node_addresses, addressBytes(ip)) === undefined) return 'no address of this node'
  return decodeFrontendTarget(nodePort, atNode) ?? 'another key'
}

/** Nothing changes meanwhile, so that more tries lead to the same slot. */
function endpointAt(maps: ModelMaps, slotIndex: number, { service, list }: FrontendTarget): Choice {
  const slots = Buffer.from(maps.slots.bytes.buffer, maps.slots.bytes.byteOffset)
  const { endpoint: id, generation } = readSlotWord(slots.readBigUInt64LE(slotIndex * layout.slot.size))
  const record = decodeEndpoint(maps.endpoints.bytes, id * layout.endpoint.size)
  const isMeant =
    record.service === service && record.generation === generation && (record.lists & listBits[list]) !== 0
  return isMeant
    ? { kind: 'endpoint', address: hostPort(record.ip, record.port), id, generation }
    : pass('the endpoint has ended')
}

function lookUp({ entriesByKey }: ModelMap, key: Buffer): Uint8Array | undefined {
  return entriesByKey.get(key.toString('latin1'))?.[1]
}

function pass(why: string): Choice {
  return { kind: 'pass', why }
}
