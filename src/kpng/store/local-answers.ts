/**
 * What nodes are told. Most of them see a change alike, so the bytes of a difference are made once and shared; a node
 * that sees one of the changed Services as no other does gets its own.
 */
import { compareBytes } from '../wire/byte-order.ts'
import type { GlobalStore } from './global-store.ts'
import { LocalChanges } from './local-changes.ts'
import type { Place } from './local-view.ts'
import { joined } from './op-bytes.ts'
import type { OpBytes } from './op-bytes.ts'
import type { OpItem } from './op-items.ts'

/** A place at a revision: what a peer knows. */
export interface KnownState {
  readonly place: Place
  readonly revision: number
}

interface SharedDifference {
  readonly difference: OpBytes | undefined
  /** Nodes that it is not for. */
  readonly particularNodes: ReadonlySet<string>
}

export class LocalAnswers {
  readonly #store: GlobalStore
  #sharedRevision = 0
  readonly #sharedByKey = new Map<string, SharedDifference>()
  readonly #joinedSets = new WeakMap<readonly OpItem[], OpBytes>()
  #order: StateOrder = { version: -1, paths: [], prefixed: [] }

  constructor(store: GlobalStore) {
    this.#store = store
  }

  /**
   * The whole state at the newest revision. It may be read slowly, while the store goes on: somebody must hold a reader
   * at that revision. Nothing is kept for it in the meantime.
   */
  everything(place: Place): Iterable<OpBytes> {
    return this.#stateAt(this.#store.revision, this.#stateOrder(), place)
  }

  *#stateAt(revision: number, { paths, prefixed }: StateOrder, place: Place): Generator<OpBytes> {
    const { services } = this.#store
    for (const path of paths) {
      const item = services.at(path, revision)?.serviceItem
      if (item !== undefined) yield { bytes: item.set, operations: 1 }
    }
    const anonymous: (readonly OpItem[])[] = []
    for (const path of prefixed) {
      const view = services.at(path, revision)?.localView(place)
      if (view === undefined) continue
      if (view.anonymous.length > 0) anonymous.push(view.anonymous)
      yield* this.#sets(view.named)
    }
    for (const items of anonymous) yield* this.#sets(items)
  }

  /** Undefined when there is none. */
  difference(known: KnownState, place: Place): OpBytes | undefined {
    if (known.place.node !== place.node || known.place.zone !== place.zone)
      return this.#differenceOf(this.#store.services.keys(), known, place)
    const shared = this.#shared(known.revision, place)
    if (!shared.particularNodes.has(place.node)) return shared.difference
    return this.#differenceOf(this.#store.services.changedSince(known.revision), known, place)
  }

  #shared(since: number, { zone, wantsUnscoped }: Place): SharedDifference {
    const { services, revision } = this.#store
    if (this.#sharedRevision !== revision) this.#sharedByKey.clear()
    this.#sharedRevision = revision
    const key = `${since}|${wantsUnscoped}|${zone}`
    let shared = this.#sharedByKey.get(key)
    if (shared === undefined) {
      const anybody: Place = { node: '', zone, wantsUnscoped }
      const changed = services.changedSince(since)
      const particularNodes = new Set<string>()
      for (const path of changed)
        for (const state of [services.at(path, since), services.latest(path)])
          for (const node of state?.particularNodes ?? []) particularNodes.add(node)
      particularNodes.delete('')
      const known = { place: anybody, revision: since }
      shared = { difference: this.#differenceOf(changed, known, anybody), particularNodes }
      this.#sharedByKey.set(key, shared)
    }
    return shared
  }

  #differenceOf(paths: Iterable<string>, known: KnownState, place: Place): OpBytes | undefined {
    const { services } = this.#store
    const changes = new LocalChanges()
    for (const path of paths) {
      const before = services.at(path, known.revision)?.localView(known.place)
      changes.add(path, before, services.latest(path)?.localView(place))
    }
    const frames = changes.frames()
    return frames.length === 0 ? undefined : joined(frames)
  }

  /** Those of a small Service together, because every newcomer needs them; a large one would be kept twice. */
  *#sets(items: readonly OpItem[]): Generator<OpBytes> {
    if (items.length === 0) return
    if (items.length > largestJoined) {
      for (const { set } of items) yield { bytes: set, operations: 1 }
      return
    }
    let bytes = this.#joinedSets.get(items)
    if (bytes === undefined) this.#joinedSets.set(items, (bytes = joined(items.map(({ set }) => set))))
    yield bytes
  }

  /** Sorted again only when there are other Services. */
  #stateOrder(): StateOrder {
    const { services } = this.#store
    if (this.#order.version !== services.keysVersion)
      this.#order = {
        version: services.keysVersion,
        paths: [...services.keys()].sort(compareBytes),
        // Not the same order: `a-b/` comes before `a/`, but `a` before `a-b`.
        prefixed: [...services.keys()].sort((left, right) => compareBytes(`${left}/`, `${right}/`)),
      }
    return this.#order
  }
}

const largestJoined = 16

interface StateOrder {
  readonly version: number
  readonly paths: readonly string[]
  readonly prefixed: readonly string[]
}
