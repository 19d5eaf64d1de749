/**
 * The current objects. Sources write them, listeners are told what changed, and nothing here knows where an object came
 * from.
 */
import { objectKey } from '../api/records.ts'
import type {
  NamespaceRecord,
  NodeRecord,
  ObjectKey,
  ObjectKind,
  ObjectRecord,
  RecordOf,
  ServiceCidrRecord,
  ServiceRecord,
  SliceRecord,
} from '../api/records.ts'
import type { EventVerb, ObjectEvent } from './object-event.ts'
import { isSameData } from './same-data.ts'
import type { SpanLink } from './trace.ts'

/** One object changed: `previous` is absent when it is new, `current` when it is gone. */
export type CatalogEvent = {
  [K in ObjectKind]: {
    readonly kind: K
    readonly key: ObjectKey
    readonly previous: RecordOf<K> | undefined
    readonly current: RecordOf<K> | undefined
    /** By which it came, if that is recorded. */
    readonly event?: ObjectEvent | undefined
  }
}[ObjectKind]

export interface CatalogListener {
  changed(event: CatalogEvent): void
  /** The complete list of a kind has arrived for the first time. */
  listed?(kind: ObjectKind | 'Pod'): void
}

/** Called only for what has changed. */
export type EventOf = (key: ObjectKey, verb: Exclude<EventVerb, 'List'>) => ObjectEvent | undefined

export class Catalog {
  readonly #awaitedKinds: readonly ObjectKind[]
  readonly #records: { readonly [K in ObjectKind]: Map<ObjectKey, RecordOf<K>> } = {
    Service: new Map(),
    EndpointSlice: new Map(),
    Node: new Map(),
    ServiceCIDR: new Map(),
    Namespace: new Map(),
  }
  readonly #slicesByService = new Map<ObjectKey, Map<ObjectKey, SliceRecord>>()
  readonly #listedKinds = new Set<ObjectKind>()
  readonly #listeners = new Set<CatalogListener>()
  readonly #firstLists: SpanLink[] = []
  #changes = 0
  #awaitsPods: boolean

  /** `awaitsNamespaces`, `awaitsPods`: what may be programmed depends on them, too. */
  constructor({
    awaitsNamespaces = false,
    awaitsPods = false,
  }: { readonly awaitsNamespaces?: boolean; readonly awaitsPods?: boolean } = {}) {
    this.#awaitsPods = awaitsPods
    this.#awaitedKinds = ['Service', 'EndpointSlice', ...(awaitsNamespaces ? (['Namespace'] as const) : [])]
  }

  get services(): ReadonlyMap<ObjectKey, ServiceRecord> {
    return this.#records.Service
  }

  get slices(): ReadonlyMap<ObjectKey, SliceRecord> {
    return this.#records.EndpointSlice
  }

  get nodes(): ReadonlyMap<ObjectKey, NodeRecord> {
    return this.#records.Node
  }

  get serviceCidrs(): ReadonlyMap<ObjectKey, ServiceCidrRecord> {
    return this.#records.ServiceCIDR
  }

  get namespaces(): ReadonlyMap<ObjectKey, NamespaceRecord> {
    return this.#records.Namespace
  }

  /** The slices of one Service, by slice key; empty when there are none. */
  slicesOf(service: ObjectKey): ReadonlyMap<ObjectKey, SliceRecord> {
    return this.#slicesByService.get(service) ?? noSlices
  }

  get<K extends ObjectKind>(kind: K, key: ObjectKey): RecordOf<K> | undefined {
    return this.#records[kind].get(key)
  }

  /** Services and EndpointSlices are complete: only now may anything be programmed, or removed. */
  get isInitialised(): boolean {
    return !this.#awaitsPods && this.#awaitedKinds.every((kind) => this.hasListed(kind))
  }

  hasListed(kind: ObjectKind): boolean {
    return this.#listedKinds.has(kind)
  }

  /** The weights of pods, which are kept elsewhere, have come for the first time, or will not come. */
  podsListed(): void {
    if (!this.#awaitsPods) return
    this.#awaitsPods = false
    for (const listener of this.#listeners) listener.listed?.('Pod')
  }

  /** The events by which the first complete lists came, as far as they are recorded. */
  get firstLists(): readonly SpanLink[] {
    return this.#firstLists
  }

  /** How many changes of objects there have been. */
  get changes(): number {
    return this.#changes
  }

  /** Returns the function that ends the subscription. */
  subscribe(listener: CatalogListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** The complete list of a kind: what it lacks is gone, what it repeats unchanged is no news. */
  replace<K extends ObjectKind>(kind: K, records: readonly RecordOf<K>[], eventOf?: EventOf, list?: ObjectEvent): void {
    const keys = new Set(records.map(objectKey))
    for (const key of this.#records[kind].keys()) if (!keys.has(key)) this.remove(kind, key, eventOf)
    for (const record of records) this.upsert(record, eventOf)
    if (this.#listedKinds.has(kind)) return
    this.#listedKinds.add(kind)
    if (list?.link !== undefined) this.#firstLists.push(list.link)
    for (const listener of this.#listeners) listener.listed?.(kind)
  }

  upsert(current: ObjectRecord, eventOf?: EventOf): void {
    const key = objectKey(current)
    const previous = this.get(current.kind, key)
    if (previous !== undefined && isSameData(previous, current)) return
    if (current.kind === 'EndpointSlice') this.#linkSlice(current, key, previous as SliceRecord | undefined)
    // The union of maps cannot be narrowed together with the union of records; the kinds agree by construction.
    const records = this.#records[current.kind] as Map<ObjectKey, ObjectRecord>
    records.set(key, current)
    const event = eventOf?.(key, previous === undefined ? 'Add' : 'Update')
    this.#announce({ kind: current.kind, key, previous, current, event } as CatalogEvent)
  }

  remove(kind: ObjectKind, key: ObjectKey, eventOf?: EventOf): void {
    const previous = this.get(kind, key)
    if (previous === undefined) return
    if (previous.kind === 'EndpointSlice') this.#unlinkSlice(previous, key)
    this.#records[kind].delete(key)
    const event = eventOf?.(key, 'Delete')
    this.#announce({ kind, key, previous, current: undefined, event } as CatalogEvent)
  }

  #announce(event: CatalogEvent): void {
    this.#changes++
    for (const listener of this.#listeners) listener.changed(event)
  }

  #linkSlice(slice: SliceRecord, key: ObjectKey, previous: SliceRecord | undefined): void {
    const service = serviceKeyOf(slice)
    if (previous !== undefined && previous.serviceName !== slice.serviceName) this.#unlinkSlice(previous, key)
    const siblings = this.#slicesByService.get(service)
    if (siblings === undefined) this.#slicesByService.set(service, new Map([[key, slice]]))
    else siblings.set(key, slice)
  }

  #unlinkSlice(slice: SliceRecord, key: ObjectKey): void {
    const service = serviceKeyOf(slice)
    const siblings = this.#slicesByService.get(service)
    siblings?.delete(key)
    if (siblings?.size === 0) this.#slicesByService.delete(service)
  }
}

const noSlices: ReadonlyMap<ObjectKey, SliceRecord> = new Map()

/** The key of the Service a slice belongs to. */
export function serviceKeyOf(slice: SliceRecord): ObjectKey {
  return objectKey({ namespace: slice.namespace, name: slice.serviceName })
}
