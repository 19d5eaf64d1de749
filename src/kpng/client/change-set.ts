/** What one answer of a server says: the unit in which a client may change its mind. */
import type { OpItem, Ref, Value } from '../proto/generated/localv1/api.ts'

export interface ChangeSet {
  /** Everything known before is void: what is set here is all there is. */
  readonly isReset: boolean
  readonly sets: readonly Value[]
  readonly deletes: readonly Ref[]
}

/** Collects operations until the server says that they belong together. */
export class ChangeSetReader {
  #isReset: boolean
  #sets: Value[] = []
  #deletes: Ref[] = []

  /** A new stream tells everything, whether or not the server says so first. */
  constructor() {
    this.#isReset = true
  }

  /** The change set, when this operation completes one. */
  push({ Op: op }: OpItem): ChangeSet | undefined {
    switch (op?.$case) {
      case 'Set':
        this.#sets.push(op.value)
        return undefined
      case 'Delete':
        this.#deletes.push(op.value)
        return undefined
      case 'Reset':
        this.#isReset = true
        this.#sets = []
        this.#deletes = []
        return undefined
      case 'Sync':
        return this.#take()
      case undefined:
        return undefined // an operation of the future
      default:
        return op satisfies never
    }
  }

  #take(): ChangeSet {
    const changeSet = { isReset: this.#isReset, sets: this.#sets, deletes: this.#deletes }
    this.#isReset = false
    this.#sets = []
    this.#deletes = []
    return changeSet
  }
}
