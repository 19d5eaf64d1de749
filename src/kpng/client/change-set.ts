/** One complete answer of a server. A client may only act on complete ones. */
import type { OpItem, Ref, Value } from '../proto/generated/localv1/api.ts'
import type { Cause } from '../wire/causes.ts'

export interface ChangeSet {
  /** Everything known before is void: what is set here is the whole state. */
  readonly isReset: boolean
  readonly sets: readonly Value[]
  readonly deletes: readonly Ref[]
  /** What the server did to make it, as far as it tells. */
  readonly causes?: readonly Cause[]
}

/** Collects operations until the server says that they are complete. */
export class ChangeSetReader {
  #isReset: boolean
  #sets: Value[] = []
  #deletes: Ref[] = []

  /** A new stream starts with the whole state, whether or not the server sends a Reset first. */
  constructor() {
    this.#isReset = true
  }

  /** Returns the change set that this operation completes, if it does. */
  push({ Op: op }: OpItem, causes: readonly Cause[] = []): ChangeSet | undefined {
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
        return { ...this.#take(), ...(causes.length > 0 && { causes }) }
      case undefined:
        return undefined // an operation of a later version
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
