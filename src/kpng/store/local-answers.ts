/**
 * What nodes are sent. Most of them see a change alike, so a difference is computed once and its bytes are shared. For
 * a node that sees some of the changed Services differently, only those are computed separately.
 */
import type { GlobalStore } from './global-store.ts'
import { localChanges, localFrames } from './local-changes.ts'
import type { LocalChanges } from './local-changes.ts'
import type { Viewer } from './local-view.ts'
import { joined } from './op-bytes.ts'
import type { OpBytes } from './op-bytes.ts'
import type { OpItem } from './op-items.ts'
import { pathOrder } from './path-order.ts'
import type { PathOrder } from './path-order.ts'

/** What a peer knows. */
export interface KnownState {
  readonly viewer: Viewer
  readonly revision: number
}

/** What changed since one revision, for a node that is not involved in any of the changed Services. */
interface SharedDifference {
  readonly order: PathOrder
  readonly changesByPath: ReadonlyMap<string, LocalChanges | undefined>
  readonly difference: OpBytes | undefined
  /** The Services that a node sees differently. */
  readonly particularPathsByNode: ReadonlyMap<string, ReadonlySet<string>>
}

export class LocalAnswers {
  readonly #store: GlobalStore
  #sharedRevision = 0
  readonly #sharedByKey = new Map<string, SharedDifference>()
  readonly #joinedSets = new WeakMap<readonly OpItem[], OpBytes>()
  #wholeOrder: PathOrder | undefined
  #keysVersion = -1

  constructor(store: GlobalStore) {
    this.#store = store
  }

  /**
   * The whole state at the newest revision. It may be read slowly while the store changes, so the caller must hold a
   * reader at that revision. Nothing else is kept for it.
   */
  everything(viewer: Viewer): Iterable<OpBytes> {
    return this.#stateAt(this.#store.revision, this.#orderOfAll(), viewer)
  }

  *#stateAt(revision: number, { paths, prefixes }: PathOrder, viewer: Viewer): Generator<OpBytes> {
    const { services } = this.#store
    for (const path of paths) {
      const item = services.at(path, revision)?.serviceItem
      if (item !== undefined) yield { bytes: item.set, operations: 1 }
    }
    const anonymous: (readonly OpItem[])[] = []
    for (const path of prefixes) {
      const view = services.at(path, revision)?.localView(viewer)
      if (view === undefined) continue
      if (view.anonymous.length > 0) anonymous.push(view.anonymous)
      yield* this.#sets(view.named)
    }
    for (const items of anonymous) yield* this.#sets(items)
  }

  difference(known: KnownState, viewer: Viewer): OpBytes | undefined {
    if (known.viewer.node !== viewer.node || known.viewer.zone !== viewer.zone) return this.#moved(known, viewer)
    const { order, changesByPath, difference, particularPathsByNode } = this.#shared(known.revision, viewer)
    const own = particularPathsByNode.get(viewer.node)
    if (own === undefined) return difference
    const changes = new Map(changesByPath)
    for (const path of own) changes.set(path, this.#changes(path, known, viewer))
    return joinedOrNothing(localFrames(order, (path) => changes.get(path)))
  }

  /** For a peer that now asks for another node, or whose node is in another zone, every Service may look different. */
  #moved(known: KnownState, viewer: Viewer): OpBytes | undefined {
    const order = this.#orderOfAll()
    const changes = new Map(order.paths.map((path) => [path, this.#changes(path, known, viewer)]))
    return joinedOrNothing(localFrames(order, (path) => changes.get(path)))
  }

  #shared(since: number, { zone, wantsUnscoped }: Viewer): SharedDifference {
    const { revision } = this.#store
    if (this.#sharedRevision !== revision) this.#sharedByKey.clear()
    this.#sharedRevision = revision
    const key = `${since}|${wantsUnscoped}|${zone}`
    let shared = this.#sharedByKey.get(key)
    if (shared === undefined) {
      const anybody: Viewer = { node: '', zone, wantsUnscoped }
      this.#sharedByKey.set(key, (shared = this.#makeShared({ viewer: anybody, revision: since })))
    }
    return shared
  }

  #makeShared(known: KnownState): SharedDifference {
    const { services } = this.#store
    const order = pathOrder(services.changedSince(known.revision))
    const changesByPath = new Map<string, LocalChanges | undefined>()
    const particularPathsByNode = new Map<string, Set<string>>()
    for (const path of order.paths) {
      changesByPath.set(path, this.#changes(path, known, known.viewer))
      for (const state of [services.at(path, known.revision), services.latest(path)])
        for (const node of state?.particularNodes ?? []) {
          if (node === '') continue
          const paths = particularPathsByNode.get(node)
          if (paths === undefined) particularPathsByNode.set(node, new Set([path]))
          else paths.add(path)
        }
    }
    const difference = joinedOrNothing(localFrames(order, (path) => changesByPath.get(path)))
    return { order, changesByPath, difference, particularPathsByNode }
  }

  #changes(path: string, known: KnownState, viewer: Viewer): LocalChanges | undefined {
    const { services } = this.#store
    const before = services.at(path, known.revision)?.localView(known.viewer)
    return localChanges(before, services.latest(path)?.localView(viewer))
  }

  /** A small Service is joined and kept, because every new client needs it. A large one would take the memory twice. */
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

  /** Sorted again only if there are other Services. */
  #orderOfAll(): PathOrder {
    const { services } = this.#store
    if (this.#wholeOrder === undefined || this.#keysVersion !== services.keysVersion)
      this.#wholeOrder = pathOrder(services.keys())
    this.#keysVersion = services.keysVersion
    return this.#wholeOrder
  }
}

const largestJoined = 16

function joinedOrNothing(frames: readonly Buffer[]): OpBytes | undefined {
  return frames.length === 0 ? undefined : joined(frames)
}
