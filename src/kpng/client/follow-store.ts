/** The node's state from a store in this process, as a watch over the network would send it. */
import type { GlobalStore } from '../store/global-store.ts'
import { LocalAnswers } from '../store/local-answers.ts'
import { LocalCursor } from '../store/local-cursor.ts'
import { OpItem } from '../proto/generated/localv1/api.ts'
import { frameHeaderLength } from '../wire/op-frames.ts'
import { ChangeSetReader } from './change-set.ts'
import type { ChangeSet } from './change-set.ts'

export async function followStore(
  store: GlobalStore,
  node: string,
  apply: (changes: ChangeSet) => Promise<void> | void,
  signal: AbortSignal,
): Promise<void> {
  let wake = () => {}
  const unsubscribe = store.subscribe(() => wake())
  const onAbort = () => wake()
  signal.addEventListener('abort', onAbort, { once: true })
  let follower = new Follower(store)
  try {
    while (!signal.aborted) {
      const changed = new Promise<void>((resolve) => (wake = resolve))
      // The reader was so slow that the difference is forgotten, so it gets everything again.
      if (follower.isExpired) follower = new Follower(store)
      const changes = store.isSynced ? follower.next(node) : undefined
      if (changes === undefined) await changed
      else await apply(changes)
    }
  } finally {
    follower[Symbol.dispose]()
    signal.removeEventListener('abort', onAbort)
    unsubscribe()
  }
}

class Follower implements Disposable {
  readonly #cursor: LocalCursor
  readonly #reader = new ChangeSetReader()
  #isFirst = true
  isExpired = false

  constructor(store: GlobalStore) {
    const onExpired = () => (this.isExpired = true)
    const answers = new LocalAnswers(store)
    this.#cursor = new LocalCursor({ store, answers, wantsUnscoped: false, onExpired })
  }

  /** Returns nothing if nothing is new; at first, even an empty state is new. */
  next(node: string): ChangeSet | undefined {
    const parts = this.#cursor.advance(node)
    if (parts === undefined && !this.#isFirst) return undefined
    this.#isFirst = false
    for (const { bytes } of parts ?? []) for (const item of decodeFrames(bytes)) this.#reader.push(item)
    return this.#reader.push(sync)
  }

  [Symbol.dispose](): void {
    this.#cursor[Symbol.dispose]()
  }
}

const sync: OpItem = { Op: { $case: 'Sync', value: {} } }

function* decodeFrames(bytes: Buffer): Generator<OpItem> {
  for (let at = 0; at < bytes.length;) {
    const start = at + frameHeaderLength
    at = start + bytes.readUInt32BE(at + 1)
    yield OpItem.decode(bytes.subarray(start, at))
  }
}
