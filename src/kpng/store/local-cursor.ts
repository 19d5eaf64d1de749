/** What a peer that watches one node's state still has to be told. It remembers one revision, and where the peer is. */
import { compareBytes } from '../wire/byte-order.ts'
import { ChangeSetPosition } from './change-set.ts'
import type { GlobalStore, StoreReader } from './global-store.ts'
import type { LocalView, Place } from './local-view.ts'
import { diffItems } from './op-items.ts'
import type { ItemChanges, OpItem } from './op-items.ts'

export interface LocalCursorOptions {
  readonly store: GlobalStore
  readonly wantsUnscoped: boolean
  readonly onExpired: () => void
}

const nowhere: Place = { node: '', zone: '', wantsUnscoped: false }

export class LocalCursor implements StoreReader, Disposable {
  readonly #options: LocalCursorOptions
  readonly #remove: () => void
  #place: Place = nowhere
  #revision = 0

  constructor(options: LocalCursorOptions) {
    this.#options = options
    this.#remove = options.store.addReader(this)
  }

  get revision(): number {
    return this.#revision
  }

  expire(): void {
    this.#options.onExpired()
  }

  /** The frames that bring the peer up to date; none when it already is. */
  advance(node: string): readonly Buffer[] {
    const { store, wantsUnscoped } = this.#options
    const before = { place: this.#place, revision: this.#revision }
    const place: Place = { node, zone: store.zoneOf(node), wantsUnscoped }
    this.#place = place
    this.#revision = store.revision
    if (before.revision === 0) return fullState(store, place)
    const isSamePlace = before.place.node === node && before.place.zone === place.zone
    const paths = isSamePlace ? store.services.changedSince(before.revision) : store.services.keys()
    const changes = new LocalChanges()
    for (const path of paths) {
      const now = store.services.latest(path)?.localView(place)
      changes.add(path, store.services.at(path, before.revision)?.localView(before.place), now)
    }
    return changes.frames()
  }

  [Symbol.dispose](): void {
    this.#remove()
  }
}

function fullState(store: GlobalStore, place: Place): readonly Buffer[] {
  const changes = new LocalChanges()
  for (const path of store.services.keys()) changes.add(path, undefined, store.services.latest(path)?.localView(place))
  return changes.frames()
}

class LocalChanges {
  readonly #serviceSets = new ChangeSetPosition('ascending')
  readonly #anonymousDeletes = new ChangeSetPosition('descending')
  readonly #namedSets = new ChangeSetPosition('ascending')
  readonly #namedDeletes = new ChangeSetPosition('descending')
  readonly #anonymousSets = new ChangeSetPosition('ascending')
  readonly #serviceDeletes = new ChangeSetPosition('descending')

  add(path: string, before: LocalView | undefined, after: LocalView | undefined): void {
    if (before === after) return
    const { service, named, anonymous } = viewChanges(before, after)
    const prefix = `${path}/`
    this.#serviceSets.add(path, service.sets)
    this.#anonymousDeletes.add(prefix, anonymous.deletes)
    this.#namedSets.add(prefix, named.sets)
    this.#namedDeletes.add(prefix, named.deletes)
    this.#anonymousSets.add(prefix, anonymous.sets)
    this.#serviceDeletes.add(path, service.deletes)
  }

  frames(): readonly Buffer[] {
    const frames: Buffer[] = []
    this.#serviceSets.appendTo(frames)
    this.#anonymousDeletes.appendTo(frames)
    this.#namedSets.appendTo(frames)
    this.#namedDeletes.appendTo(frames)
    this.#anonymousSets.appendTo(frames)
    this.#serviceDeletes.appendTo(frames)
    return frames
  }
}

interface ViewChanges {
  readonly service: ItemChanges
  readonly named: ItemChanges
  readonly anonymous: ItemChanges
}

function viewChanges(before: LocalView | undefined, after: LocalView | undefined): ViewChanges {
  return {
    service: diffItems(listOf(before?.service), listOf(after?.service), compareBytes),
    named: diffItems(before?.named ?? none, after?.named ?? none, compareBytes),
    anonymous: diffItems(before?.anonymous ?? none, after?.anonymous ?? none, compareBytes),
  }
}

const none: readonly OpItem[] = []

function listOf(item: OpItem | undefined): readonly OpItem[] {
  return item === undefined ? none : [item]
}
