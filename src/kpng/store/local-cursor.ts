/**
 * What has to be sent to a peer that watches one node's state. It keeps one revision, and which node the peer asked
 * for.
 */
import type { GlobalStore, StoreReader } from './global-store.ts'
import type { KnownState, LocalAnswers } from './local-answers.ts'
import type { Viewer } from './local-view.ts'
import type { OpBytes } from './op-bytes.ts'

export interface LocalCursorOptions {
  readonly store: GlobalStore
  /** All cursors of a store share it. */
  readonly answers: LocalAnswers
  readonly wantsUnscoped: boolean
  readonly onExpired: () => void
}

const nothing: KnownState = { viewer: { node: '', zone: '', wantsUnscoped: false }, revision: 0 }

export class LocalCursor implements StoreReader, Disposable {
  readonly #options: LocalCursorOptions
  readonly #remove: () => void
  #known = nothing

  constructor(options: LocalCursorOptions) {
    this.#options = options
    this.#remove = options.store.addReader(this)
  }

  get revision(): number {
    return this.#known.revision
  }

  expire(): void {
    this.#options.onExpired()
  }

  /** What brings the peer up to date, if it is not. Read it to the end before the next call. */
  advance(node: string): Iterable<OpBytes> | undefined {
    const { store, answers, wantsUnscoped } = this.#options
    const before = this.#known
    const viewer: Viewer = { node, zone: store.zoneOf(node), wantsUnscoped }
    this.#known = { viewer, revision: store.revision }
    if (before.revision === 0) return answers.everything(viewer)
    const difference = answers.difference(before, viewer)
    return difference && [difference]
  }

  [Symbol.dispose](): void {
    this.#remove()
  }
}
