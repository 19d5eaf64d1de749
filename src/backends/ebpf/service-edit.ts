/** The part of an edit that is about services: their lists, and the records of their endpoints. */
import { extentSize } from './arena.ts'
import type { Arena, Extent } from './arena.ts'
import { listNames } from './frontends-of.ts'
import type { PlannedEndpoint, SocketRoute } from './frontends-of.ts'
import { extentsOf, isSameList } from './held.ts'
import type { HeldList, HeldRecord, HeldService } from './held.ts'
import { encodeEndpoint, encodeService, endpointWord, layout, listWord, serviceOptionsWord } from './layout.ts'
import type { ListName, ServiceList } from './layout.ts'
import { Fills } from './steps.ts'
import type { StoreStep } from './steps.ts'

export class ServiceEdit {
  /** Nothing leads there yet. */
  readonly fills = new Fills()
  /** New clients may get more endpoints. */
  readonly opened: StoreStep[] = []
  /** Lists and options. */
  readonly switched: StoreStep[] = []
  /** New clients may get fewer endpoints, and some have ended. */
  readonly closed: StoreStep[] = []
  readonly retired = { indexes: [] as number[], ids: [] as number[], extents: [] as Extent[] }
  /** Services that were there, and whose clients get something else. */
  readonly changedIndexes = new Set<number>()
  readonly #arena: Arena

  constructor(arena: Arena) {
    this.#arena = arena
  }

  /** What is held then. Undefined: there is no room, and nothing is done. */
  change(before: HeldService | undefined, route: SocketRoute): HeldService | undefined {
    const taken = new Taken(this.#arena)
    const index = before?.index ?? taken.index()
    const areThere = index !== undefined && takeIds(before, route, taken)
    const lists = areThere ? planLists(before, route, taken) : undefined
    if (index === undefined || lists === undefined) {
      taken.giveBack()
      return undefined
    }
    const records = this.#planRecords(before, route, taken)
    const recordsByAddress = new Map<string, HeldRecord>()
    const held: HeldService = {
      index,
      lists,
      affinitySeconds: route.affinitySeconds,
      roundRobin: route.roundRobin,
      recordsByAddress,
    }
    for (let place = 0; place < records.length; place++) {
      const [endpoint, record] = [route.endpoints[place] as PlannedEndpoint, records[place] as HeldRecord]
      recordsByAddress.set(endpoint.address, record)
      this.#writeRecord(endpoint, record, before?.recordsByAddress.get(endpoint.address), index, taken)
    }
    for (const extent of taken.extents) this.#writeSlots(extent, held)
    if (before === undefined) this.#writeService(held, taken)
    else this.#switchService(before, held)
    this.#leave(before, held)
    return held
  }

  end(held: HeldService): void {
    for (const name of listNames)
      if (held.lists[name].kind !== 'pass')
        this.closed.push(listStep(held.index, name, { kind: 'pass' }, this.#arena.turn()))
    for (const record of held.recordsByAddress.values()) this.endRecord(record)
    this.retired.extents.push(...extentsOf(held))
    this.retired.indexes.push(held.index)
    this.changedIndexes.add(held.index)
  }

  endRecord(record: HeldRecord): void {
    this.closed.push(recordStep({ ...record, lists: 0, generation: 0 }))
    this.retired.ids.push(record.id)
  }

  /** One for each endpoint. One that stays as it is, is the same object. */
  #planRecords(before: HeldService | undefined, { endpoints }: SocketRoute, taken: Taken): readonly HeldRecord[] {
    return endpoints.map(({ address, port, lists }) => {
      const old = before?.recordsByAddress.get(address)
      if (old?.lists === lists) return old
      const { id, generation } = old ?? { id: taken.nextId(), generation: this.#arena.generation() }
      return { id, port, lists, generation }
    })
  }

  #writeRecord(
    { ip }: PlannedEndpoint,
    record: HeldRecord,
    old: HeldRecord | undefined,
    service: number,
    taken: Taken,
  ): void {
    if (old === undefined) {
      const { size } = layout.endpoint
      const filling = this.fills.add('endpoints', record.id * size, size)
      const { port, lists, generation } = record
      encodeEndpoint({ ip, port, lists, generation, service }, filling.memory, filling.at)
      if (taken.isUsedId(record.id)) this.#zero('endpoint_stats', record.id, layout.endpointStats.size)
      return
    }
    if (old === record) return
    const all = old.lists | record.lists
    if (all !== old.lists) this.opened.push(recordStep({ ...record, lists: all }))
    if (all !== record.lists) this.closed.push(recordStep(record))
  }

  #writeSlots(extent: Extent, { lists, recordsByAddress }: HeldService): void {
    const isThere = (each: HeldList) => each.kind === 'endpoints' && each.extent.base === extent.base
    const list = isThere(lists.internal) ? lists.internal : lists.external
    if (list.kind !== 'endpoints') return
    const { size, endpoint, generation } = layout.slot
    const filling = this.fills.add('slots', extent.base * size, extent.size * size)
    const { numbers } = filling.memory
    let { at } = filling
    for (const address of list.addresses) {
      const record = recordsByAddress.get(address)
      if (record === undefined) throw new Error(`${address} is in a list, but is no endpoint of its route`)
      numbers.setUint32(at + endpoint, record.id, true)
      numbers.setUint32(at + generation, record.generation, true)
      at += size
    }
  }

  #writeService(held: HeldService, taken: Taken): void {
    const { index, lists, affinitySeconds, roundRobin } = held
    const turn = this.#arena.turn()
    const words = { internal: wordOf(lists.internal), external: wordOf(lists.external) }
    const { size } = layout.service
    const filling = this.fills.add('services', index * size, size)
    encodeService({ lists: words, turn, affinitySeconds, roundRobin }, filling.memory, filling.at)
    if (taken.isIndexUsed) this.#zero('service_stats', index, layout.serviceStats.size)
  }

  #switchService(before: HeldService, after: HeldService): void {
    const { index } = after
    for (const name of listNames) {
      if (before.lists[name] === after.lists[name]) continue
      this.switched.push(listStep(index, name, wordOf(after.lists[name]), this.#arena.turn()))
      this.changedIndexes.add(index)
    }
    if (before.affinitySeconds !== after.affinitySeconds || before.roundRobin !== after.roundRobin) {
      const offset = index * layout.service.size + layout.service.affinitySeconds
      this.switched.push({ do: 'store', map: 'services', offset, word: serviceOptionsWord(after) })
    }
  }

  /** What it had and has no more. */
  #leave(before: HeldService | undefined, after: HeldService): void {
    if (before === undefined) return
    for (const [address, record] of before.recordsByAddress)
      if (!after.recordsByAddress.has(address)) this.endRecord(record)
    const kept = new Set(extentsOf(after).map(({ base }) => base))
    this.retired.extents.push(...extentsOf(before).filter(({ base }) => !kept.has(base)))
  }

  #zero(map: 'service_stats' | 'endpoint_stats', index: number, size: number): void {
    this.fills.add(map, index * size, size)
  }
}

/** What one route takes of the arena: all that it needs, or nothing. */
class Taken {
  readonly #arena: Arena
  #index: number | undefined
  readonly #ids: number[] = []
  readonly extents: Extent[] = []
  /** They have a past, which was counted. */
  #usedIds: Set<number> | undefined
  #givenIds = 0
  isIndexUsed = false

  constructor(arena: Arena) {
    this.#arena = arena
  }

  index(): number | undefined {
    const taken = this.#arena.indexes.take(1)
    this.#index = taken?.base
    this.isIndexUsed = taken?.isNew === false
    return taken?.base
  }

  /** False: there is none. */
  takeId(): boolean {
    const taken = this.#arena.ids.take(1)
    if (taken === undefined) return false
    this.#ids.push(taken.base)
    if (!taken.isNew) (this.#usedIds ??= new Set()).add(taken.base)
    return true
  }

  /** Of those that were taken, in this order. */
  nextId(): number {
    const id = this.#ids[this.#givenIds++]
    if (id === undefined) throw new Error('an endpoint has no number')
    return id
  }

  isUsedId(id: number): boolean {
    return this.#usedIds?.has(id) === true
  }

  extent(count: number): Extent | undefined {
    const taken = this.#arena.slots.take(extentSize(count))
    if (taken === undefined) return undefined
    const extent = { base: taken.base, size: taken.size }
    this.extents.push(extent)
    return extent
  }

  giveBack(): void {
    if (this.#index !== undefined) this.#arena.indexes.giveBack({ base: this.#index, size: 1 })
    for (const base of this.#ids) this.#arena.ids.giveBack({ base, size: 1 })
    for (const extent of this.extents) this.#arena.slots.giveBack(extent)
  }
}

/** False: there are too few. */
function takeIds(before: HeldService | undefined, { endpoints }: SocketRoute, taken: Taken): boolean {
  return endpoints.every(({ address }) => before?.recordsByAddress.has(address) === true || taken.takeId())
}

/** A list that stays as it is, is the same object. Undefined: there is no room. */
function planLists(
  before: HeldService | undefined,
  { lists }: SocketRoute,
  taken: Taken,
): HeldService['lists'] | undefined {
  const shared: HeldList[] = []
  for (const name of before === undefined ? [] : listNames) {
    const held = before?.lists[name]
    if (held !== undefined && isSameList(held, lists[name])) shared.push(held)
  }
  const plan = (name: ListName): HeldList | undefined => {
    const [wanted, held] = [lists[name], before?.lists[name]]
    if (held !== undefined && isSameList(held, wanted)) return held
    if (wanted.kind !== 'endpoints') return wanted
    const same = shared.find((list) => isSameList(list, wanted))
    if (same !== undefined) return same
    const extent = taken.extent(wanted.addresses.length)
    if (extent === undefined) return undefined
    const list: HeldList = { kind: 'endpoints', addresses: wanted.addresses, extent }
    shared.push(list)
    return list
  }
  const internal = plan('internal')
  const external = internal && plan('external')
  return internal && external && { internal, external }
}

function wordOf(list: HeldList): ServiceList {
  switch (list.kind) {
    case 'endpoints':
      return { kind: 'endpoints', base: list.extent.base, count: list.addresses.length }
    case 'refuse':
    case 'pass':
      return { kind: list.kind }
    case 'broken':
      return { kind: 'pass' }
    default:
      return list satisfies never
  }
}

function listStep(index: number, name: ListName, list: ServiceList, turn: number): StoreStep {
  return {
    do: 'store',
    map: 'services',
    offset: index * layout.service.size + layout.service[name],
    word: listWord(list, turn),
  }
}

function recordStep(record: HeldRecord): StoreStep {
  return {
    do: 'store',
    map: 'endpoints',
    offset: record.id * layout.endpoint.size + layout.endpoint.port,
    word: endpointWord(record),
  }
}
