/** The tables as they are, read once. */
import type { BpfMap } from '../../dataplane/ebpf/bpf.ts'
import { familyOf } from '../../net/ip.ts'
import type { Family } from '../../net/ip.ts'
import { addressText } from './address-bytes.ts'
import type { HeldFrontend } from './held.ts'
import {
  bufferOf,
  decodeConfig,
  decodeEndpoint,
  decodeFrontendKey,
  decodeFrontendTarget,
  decodeService,
  layout,
  readListWord,
} from './layout.ts'
import type { EndpointRecord, MapName, ServiceRecord } from './layout.ts'
import { placesIn, specsOf } from './sizes.ts'

export type SocketMaps = Readonly<Record<MapName, BpfMap>>

/** One that has not ended. */
export interface FoundRecord extends EndpointRecord {
  readonly id: number
}

type SizedMap = 'frontends' | 'services' | 'slots' | 'endpoints'

export interface FoundTables {
  readonly capacities: Readonly<Record<SizedMap, number>>
  readonly frontends: readonly HeldFrontend[]
  /** Of frontends. They mean nothing. */
  readonly strangeKeys: readonly Uint8Array[]
  readonly nodeAddresses: Readonly<Record<Family, readonly string[]>>
  readonly records: readonly FoundRecord[]
  readonly recordsById: ReadonlyMap<number, FoundRecord>
  /** Of services that a frontend leads to, that have records, or that have a list. */
  readonly usedIndexes: ReadonlySet<number>
  /** Nothing was ever written from here on. */
  readonly touched: Readonly<Record<Exclude<SizedMap, 'frontends'>, number>>
  readonly nextGeneration: number
  service(index: number): ServiceRecord
  /** Somebody may have written that a list goes on where there is nothing: then it has nobody there. */
  slot(index: number): bigint
}

export async function readTables(maps: SocketMaps): Promise<FoundTables> {
  const frontends: HeldFrontend[] = []
  const strangeKeys: Uint8Array[] = []
  for (const [key, value] of await maps.frontends.entries()) {
    const frontend = decodeFrontendKey(key)
    if (frontend === undefined) strangeKeys.push(key)
    else frontends.push({ frontend, target: decodeFrontendTarget(value, key) })
  }
  const nodeAddresses: Record<Family, string[]> = { ipv4: [], ipv6: [] }
  for (const [key] of await maps.node_addresses.entries()) {
    const ip = addressText(bufferOf(key))
    nodeAddresses[familyOf(ip)].push(ip)
  }
  // What is read from here on is of one moment.
  const [services, slots, endpoints] = [maps.services, maps.slots, maps.endpoints].map(({ bytes }) => bufferOf(bytes))
  if (services === undefined || slots === undefined || endpoints === undefined) throw new Error('there are no tables')
  const capacities = placesIn(specsOf(maps))
  const touched = {
    services: Math.min(capacities.services, touchedElements(services, layout.service.size)),
    slots: Math.min(capacities.slots, touchedElements(slots, layout.slot.size)),
    endpoints: Math.min(capacities.endpoints, touchedElements(endpoints, layout.endpoint.size)),
  }
  const records = readRecords(endpoints, touched.endpoints)
  const service = (index: number) => decodeService(services, index * layout.service.size)
  const isIndex = (index: number) => index > 0 && index < capacities.services
  const usedIndexes = new Set<number>()
  for (const { target } of frontends)
    if (target !== undefined && isIndex(target.service)) usedIndexes.add(target.service)
  // The map that says which generation is next may have been replaced, and what lives in another one has not.
  let { nextGeneration } = decodeConfig(maps.config.bytes)
  for (const { service: index, generation } of records) {
    if (isIndex(index)) usedIndexes.add(index)
    nextGeneration = Math.max(nextGeneration, generation + 1)
  }
  for (let index = 1; index < touched.services; index++) {
    const { internal, external } = service(index)
    if ([internal, external].some((word) => readListWord(word).kind !== 'pass')) usedIndexes.add(index)
  }
  return {
    capacities,
    frontends,
    strangeKeys,
    nodeAddresses,
    records,
    recordsById: new Map(records.map((record) => [record.id, record])),
    usedIndexes,
    touched,
    nextGeneration,
    service,
    slot: (index) => (index < capacities.slots ? slots.readBigUInt64LE(index * layout.slot.size) : 0n),
  }
}

function readRecords(endpoints: Buffer, end: number): readonly FoundRecord[] {
  const records: FoundRecord[] = []
  for (let id = 1; id < end; id++) {
    const at = id * layout.endpoint.size
    if (endpoints.readUInt32LE(at + layout.endpoint.generation) !== 0)
      records.push({ id, ...decodeEndpoint(endpoints, at) })
  }
  return records
}

/** Large arrays are mostly empty, so what is empty is passed over block by block. */
function touchedElements(bytes: Buffer, size: number): number {
  let end = bytes.length
  while (end > 0 && bytes.subarray(Math.max(0, end - emptyBlock.length), end).equals(emptyBlock.subarray(0, end)))
    end = Math.max(0, end - emptyBlock.length)
  while (end > 0 && bytes[end - 1] === 0) end--
  return Math.ceil(end / size)
}

const emptyBlock = Buffer.alloc(4_096)
