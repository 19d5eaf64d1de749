/** The node's state straight from a store in this process: what a watch over the network would tell. */
import type { GlobalStore } from '../store/global-store.ts'
import { LocalCursor } from '../store/local-cursor.ts'
import { OpItem } from '../proto/generated/localv1/api.ts'
import { frameHeaderLength, syncFrame } from '../wire/op-frames.ts'
import { ChangeSetReader } from './change-set.ts'
import type { ChangeSet } from './change-set.ts'

export async function followStore(
  store: GlobalStore,
  node: string,
  apply: (changes: ChangeSet) => Promise<void> | void,
  signal: AbortSignal,
): Promise<void> {
  const reader = new ChangeSetReader()
  let wake = () => {}
  const unsubscribe = store.subscribe(() => wake())
  const onAbort = () => wake()
  signal.addEventListener('abort', onAbort, { once: true })
  using cursor = new LocalCursor({ store, wantsUnscoped: true, onExpired: () => {} })
  let isFirst = true
  try {
    while (!signal.aborted) {
      const changed = new Promise<void>((resolve) => (wake = resolve))
      const frames = store.isSynced ? cursor.advance(node) : []
      if (store.isSynced && (frames.length > 0 || isFirst)) {
        isFirst = false
        for (const frame of [...frames, syncFrame]) {
          const changes = reader.push(OpItem.decode(frame.subarray(frameHeaderLength)))
          if (changes !== undefined) await apply(changes)
        }
      } else await changed
    }
  } finally {
    signal.removeEventListener('abort', onAbort)
    unsubscribe()
  }
}
