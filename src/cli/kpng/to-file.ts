/** `… to-file`: the state of the cluster in a file, for people and for `fairlead file`. */
import type { Logger } from '../../core/logger.ts'
import { renderStateFile } from '../../kpng/model/state-file.ts'
import type { GlobalStore } from '../../kpng/store/global-store.ts'
import { replaceFile } from '../../sources/private-file.ts'
import type { Runnable } from '../run-all.ts'

export interface StateWriter {
  readonly store: GlobalStore
  readonly path: string
  readonly log: Logger
}

/** Writes after each change, in one step each: whoever reads sees a whole file. Only its owner may read it. */
export function stateWriter({ store, path, log }: StateWriter): Runnable {
  return {
    async run(signal) {
      let wake = () => {}
      const unsubscribe = store.subscribe(() => wake())
      signal.addEventListener('abort', () => wake(), { once: true })
      let written = 0
      while (!signal.aborted) {
        const changed = new Promise<void>((resolve) => (wake = resolve))
        if (store.isSynced && store.revision !== written) {
          written = store.revision
          await replaceFile(path, (append) => append(renderStateFile(store)))
          log.debug(2, 'state written', { path, revision: written })
        } else await changed
      }
      unsubscribe()
    },
  }
}
