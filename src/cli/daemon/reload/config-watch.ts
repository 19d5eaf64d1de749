/** Tells when the configuration file may have changed: written, replaced, or swapped by a ConfigMap volume. */
import { realpathSync, watch } from 'node:fs'
import type { FSWatcher } from 'node:fs'
import { dirname } from 'node:path'
import type { Clock } from '../../../core/clock.ts'

/** A writer that does not replace the file writes it in pieces, and is done by then. */
const settleMs = 100
/** Some file systems send no events, and a path may lead through links that nobody watches. */
const lookEveryMs = 10_000

export class ConfigWatch implements Disposable {
  readonly #path: string
  readonly #clock: Clock
  #watchers: readonly FSWatcher[] = []
  #folders = ''
  #wake: AbortController | undefined
  #isChanged = false

  constructor({ path, clock }: { readonly path: string; readonly clock: Clock }) {
    this.#path = path
    this.#clock = clock
    this.#follow()
  }

  /** Resolves when it is worth reading the file, or when the signal has aborted. */
  async next(signal: AbortSignal): Promise<void> {
    this.#follow()
    if (!this.#isChanged) await this.#sleep(lookEveryMs, signal)
    if (!this.#isChanged) return
    await this.#clock.sleep(settleMs, signal).catch(() => {})
    this.#isChanged = false
  }

  /** Somebody asks for a look. */
  readonly notice = (): void => {
    this.#isChanged = true
    this.#wake?.abort()
  };

  [Symbol.dispose](): void {
    for (const watcher of this.#watchers) watcher.close()
  }

  async #sleep(ms: number, signal: AbortSignal): Promise<void> {
    this.#wake = new AbortController()
    await this.#clock.sleep(ms, AbortSignal.any([signal, this.#wake.signal])).catch(() => {})
  }

  /** The folder of the file, because a watch on a file that is replaced sees nothing; and the one a link leads to. */
  #follow(): void {
    const folders = [...new Set([dirname(this.#path), dirname(targetOf(this.#path))])]
    if (folders.join('\0') === this.#folders) return
    this[Symbol.dispose]()
    this.#folders = folders.join('\0')
    this.#watchers = folders.flatMap((folder) => this.#watch(folder))
  }

  #watch(folder: string): readonly FSWatcher[] {
    try {
      const watcher = watch(folder, this.notice)
      // The folder is gone. The next look notices another one at its place.
      watcher.on('error', () => {
        watcher.close()
        this.#folders = ''
      })
      return [watcher]
    } catch {
      this.#folders = ''
      return []
    }
  }
}

function targetOf(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}
