/** Compares what the tables hold for one route with what was planned. */
import { inspectPieces, sameOrDiffers } from '../../core/inspect-pieces.ts'
import type { Inspection } from '../../core/inspection.ts'
import { hostPort } from '../../net/ip.ts'
import type { SocketMaps } from './found-tables.ts'
import type { PlannedFrontend, SocketRoute } from './frontends-of.ts'
import type { HeldService } from './held.ts'
import {
  decodeEndpoint,
  decodeFrontendTarget,
  decodeService,
  encodeFrontendKey,
  layout,
  listBits,
  readListWord,
  readSlotWord,
} from './layout.ts'
import type { EndpointRecord } from './layout.ts'
import type { PlacedRoute } from './plan.ts'
import { endpointLine, socketPieces } from './pieces.ts'
import { frontendLine } from './render.ts'

export function inspectSockets(
  { route, held }: PlacedRoute,
  maps: SocketMaps,
  signal: AbortSignal,
): Promise<Inspection> {
  if (held === undefined) return inspectPieces([], signal)
  const pieces = socketPieces(route)
  const compare = async () => {
    const found = await maps.frontends.lookup(route.frontends.map(({ frontend }) => encodeFrontendKey(frontend)))
    const lines = [
      ...route.frontends.map((planned, place) => foundLine(route, planned, found[place], held, maps)),
      ...route.endpoints.map(({ address }) => foundEndpoint(route, address, held, maps)),
    ]
    return pieces.map((piece, place) => sameOrDiffers(piece, lines[place], piece.text))
  }
  return inspectPieces([{ pieces, compare }], signal)
}

/** What a client gets there, as the programs read it. */
function foundLine(
  route: SocketRoute,
  planned: PlannedFrontend,
  value: Uint8Array | undefined,
  { index }: HeldService,
  maps: SocketMaps,
): string | undefined {
  if (value === undefined) return undefined
  const target = decodeFrontendTarget(value, encodeFrontendKey(planned.frontend))
  if (target === undefined) return `${planned.id} leads nowhere`
  if (target.service !== index) return `${planned.id} leads to service ${target.service}`
  const words = decodeService(maps.services.bytes, index * layout.service.size)
  const found = { ...planned, list: target.list, isOnLoopbackOnly: words.affinitySeconds > 0 }
  const list = readListWord(words[target.list])
  if (list.kind !== 'endpoints') return frontendLine(route, found, list)
  const addresses = Array.from({ length: list.count }, (_, place) =>
    addressAt(list.base + place, index, target.list, maps),
  )
  return frontendLine(route, found, { kind: 'endpoints', addresses })
}

function addressAt(slotIndex: number, service: number, list: keyof typeof listBits, maps: SocketMaps): string {
  const bytes = Buffer.from(maps.slots.bytes.subarray(slotIndex * layout.slot.size, (slotIndex + 1) * layout.slot.size))
  if (bytes.length < layout.slot.size) return 'nobody'
  const { endpoint, generation } = readSlotWord(bytes.readBigUInt64LE())
  const record = recordAt(endpoint, maps)
  const isMeant =
    record?.service === service && record.generation === generation && (record.lists & listBits[list]) !== 0
  return isMeant ? hostPort(record.ip, record.port) : 'nobody'
}

function foundEndpoint(
  route: SocketRoute,
  address: string,
  { index, recordsByAddress }: HeldService,
  maps: SocketMaps,
): string | undefined {
  const held = recordsByAddress.get(address)
  const record = held && recordAt(held.id, maps)
  if (record?.generation !== held?.generation || record?.service !== index) return undefined
  return endpointLine(route, hostPort(record.ip, record.port), record.lists)
}

function recordAt(id: number, { endpoints }: SocketMaps): EndpointRecord | undefined {
  return id < endpoints.spec.maxEntries ? decodeEndpoint(endpoints.bytes, id * layout.endpoint.size) : undefined
}
