/**
 * What a process finds in the tables, as if it had written it itself: then an edit makes everything right, and what is
 * right already stays. Endpoints keep their numbers, so datagrams and counts live on.
 */
import type { Clock } from '../../core/clock.ts'
import type { RouteKey } from '../../core/route.ts'
import { VersionedMap } from '../../core/versioned-map.ts'
import { hostPort, otherFamily } from '../../net/ip.ts'
import type { Family } from '../../net/ip.ts'
import { Arena, extentSize, Space } from './arena.ts'
import type { Extent } from './arena.ts'
import type { Orphans } from './edit.ts'
import { familyOfFrontend, frontendId } from './frontends-of.ts'
import type { FrontendId, SocketRoute } from './frontends-of.ts'
import type { FoundRecord, FoundTables } from './found-tables.ts'
import { extentsOf } from './held.ts'
import type { HeldFrontend, HeldList, HeldRecord, HeldService } from './held.ts'
import { encodeFrontendKey, readListWord, readSlotWord } from './layout.ts'
import type { PlacedRoute, SocketPlan } from './plan.ts'
import { reserved } from './sizes.ts'

export interface Adopted {
  /** As found. */
  readonly before: SocketPlan
  readonly orphans: Orphans
  readonly arena: Arena
}

export interface AdoptOptions {
  readonly family: Family
  /** What the routes of the family want. */
  readonly routes: ReadonlyMap<RouteKey, SocketRoute>
  /**
   * What is written for the other family. `unknown`: nobody knows yet, so whatever is there stays. `unserved`: nobody will
   * ever know, so it goes.
   */
  readonly other: SocketPlan | 'unknown' | 'unserved'
  readonly clock: Pick<Clock, 'monotonic'>
}

export function adopt(found: FoundTables, { family, routes, other, clock }: AdoptOptions): Adopted {
  const reader = new HeldReader(found)
  const frontends = frontendsByFamily(found)
  const ofOther = frontends[otherFamily(family)]
  const kept = other === 'unserved' ? [] : other === 'unknown' ? keptAsFound(ofOther, reader) : heldIn(other)
  const unserved = other === 'unserved' ? otherFamily(family) : undefined
  const keptIndexes = new Set(kept.map(({ index }) => index))
  for (const service of kept) for (const extent of extentsOf(service)) reader.occupy(extent)

  const own = frontends[family]
  const placed = new Map<RouteKey, PlacedRoute>()
  const claimed = new Set(keptIndexes)
  for (const [key, route] of routes) {
    const index = claimOf(route, own, claimed, found.capacities.services)
    if (index === undefined) continue
    claimed.add(index)
    placed.set(key, { route, held: reader.read(index) })
  }
  const held = [...placed.values()].flatMap(({ held: service }) => service ?? [])
  const orphans = [...found.usedIndexes].filter((index) => !claimed.has(index)).map((index) => reader.read(index))
  const [services, recordIds] = [[...kept, ...held, ...orphans], new Set<number>()]
  for (const { recordsByAddress } of services) for (const { id } of recordsByAddress.values()) recordIds.add(id)
  const strays = found.records.filter(({ id, service }) => !recordIds.has(id) && !keptIndexes.has(service))
  return {
    before: {
      node: {
        ownIps: new Set(),
        nodePortIps: new Set([...found.nodeAddresses[family], ...(unserved ? found.nodeAddresses[unserved] : [])]),
      },
      routesByKey: new VersionedMap(placed),
      frontendsById: new VersionedMap(own),
      withoutRoom: new Set(),
    },
    orphans: {
      services: orphans,
      records: strays,
      frontendIds: [...own.keys()],
      strangeKeys: [
        ...found.strangeKeys,
        ...(unserved ? Array.from(ofOther.values(), ({ frontend }) => encodeFrontendKey(frontend)) : []),
      ],
    },
    arena: arenaAround(found, services, strays, clock),
  }
}

type FrontendsById = Map<FrontendId, HeldFrontend>

function frontendsByFamily({ frontends }: FoundTables): Record<Family, FrontendsById> {
  const byFamily: Record<Family, FrontendsById> = { ipv4: new Map(), ipv6: new Map() }
  for (const held of frontends) byFamily[familyOfFrontend(held.frontend)].set(frontendId(held.frontend), held)
  return byFamily
}

function heldIn({ routesByKey }: SocketPlan): readonly HeldService[] {
  return routesByKey.values().flatMap(({ held }) => held ?? [])
}

function keptAsFound(frontends: FrontendsById, reader: HeldReader): readonly HeldService[] {
  const indexes = new Set([...frontends.values()].flatMap(({ target }) => target?.service ?? []))
  return [...indexes].flatMap((index) => (reader.has(index) ? reader.read(index) : []))
}

/** The service that its first frontend leads to. Who also led there, and is not of this route, is led elsewhere. */
function claimOf(
  { frontends }: SocketRoute,
  found: FrontendsById,
  claimed: ReadonlySet<number>,
  capacity: number,
): number | undefined {
  for (const { id } of frontends) {
    const index = found.get(id)?.target?.service
    if (index !== undefined && index > 0 && index < capacity && !claimed.has(index)) return index
  }
  return undefined
}

/** Reads services as they are. What makes no sense is `broken`, and its place is nobody's. */
class HeldReader {
  readonly #found: FoundTables
  /** Live ones, by service and address. Where there are two, the first counts. */
  readonly #recordsByIndex = new Map<number, Map<string, FoundRecord>>()
  readonly #occupied: Uint8Array

  constructor(found: FoundTables) {
    this.#found = found
    this.#occupied = new Uint8Array(found.capacities.slots)
    for (const record of found.records) {
      const records = this.#recordsByIndex.get(record.service) ?? new Map<string, FoundRecord>()
      this.#recordsByIndex.set(record.service, records)
      const address = hostPort(record.ip, record.port)
      if (!records.has(address)) records.set(address, record)
    }
  }

  has(index: number): boolean {
    return index > 0 && index < this.#found.capacities.services
  }

  read(index: number): HeldService {
    const { internal, external, affinitySeconds, roundRobin } = this.#found.service(index)
    const records = this.#recordsByIndex.get(index) ?? new Map<string, FoundRecord>()
    const first = this.#readList(internal, records, undefined)
    return {
      index,
      lists: { internal: first, external: this.#readList(external, records, first) },
      affinitySeconds,
      roundRobin,
      recordsByAddress: new Map(Array.from(records, ([address, record]) => [address, heldRecord(record)])),
    }
  }

  /** False: it is not there, or somebody else has some of it. */
  occupy({ base, size }: Extent): boolean {
    if (base < reserved.slots || base + size > this.#occupied.length) return false
    const part = this.#occupied.subarray(base, base + size)
    if (part.includes(1)) return false
    part.fill(1)
    return true
  }

  #readList(word: bigint, records: ReadonlyMap<string, FoundRecord>, other: HeldList | undefined): HeldList {
    const list = readListWord(word)
    if (list.kind !== 'endpoints') return { kind: list.kind }
    const { base, count } = list
    const isShared = other?.kind === 'endpoints' && other.extent.base === base && other.addresses.length === count
    if (isShared) return other
    const extent = { base, size: extentSize(count) }
    if (!this.occupy(extent)) return { kind: 'broken' }
    const addresses: string[] = []
    for (let place = 0; place < count; place++) {
      const slot = readSlotWord(this.#found.slot(base + place))
      const record = this.#found.recordsById.get(slot.endpoint)
      const address = record && hostPort(record.ip, record.port)
      if (address === undefined || records.get(address) !== record || record?.generation !== slot.generation)
        return { kind: 'broken' }
      addresses.push(address)
    }
    return { kind: 'endpoints', addresses, extent }
  }
}

function heldRecord({ id, port, lists, generation }: FoundRecord): HeldRecord {
  return { id, port, lists, generation }
}

function arenaAround(
  { capacities, touched, nextGeneration, frontends, strangeKeys }: FoundTables,
  services: readonly HeldService[],
  strays: readonly HeldRecord[],
  clock: Pick<Clock, 'monotonic'>,
): Arena {
  const one = (base: number): Extent => ({ base, size: 1 })
  const ids = services.flatMap(({ recordsByAddress }) => Array.from(recordsByAddress.values(), ({ id }) => one(id)))
  return new Arena(
    {
      indexes: Space.found(
        { first: reserved.services, end: capacities.services, clock },
        services.map(({ index }) => one(index)),
        touched.services,
      ),
      ids: Space.found(
        { first: reserved.endpoints, end: capacities.endpoints, clock },
        [...ids, ...strays.map(({ id }) => one(id))],
        touched.endpoints,
      ),
      slots: Space.found(
        { first: reserved.slots, end: capacities.slots, clock },
        services.flatMap(extentsOf),
        touched.slots,
      ),
      freeFrontends: capacities.frontends - frontends.length - strangeKeys.length,
    },
    nextGeneration,
  )
}
