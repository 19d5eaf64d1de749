/** A state file as a source. A file that cannot be read, or has a mistake in it, leaves the last good state in place. */
import { readFile, stat } from 'node:fs/promises'
import type { Clock } from '../../core/clock.ts'
import type { Logger } from '../../core/logger.ts'
import { parseStateFile } from '../../kpng/model/state-file.ts'
import { fillStore } from '../../kpng/store/fill-store.ts'
import type { GlobalStore } from '../../kpng/store/global-store.ts'

export interface StateFileSourceOptions {
  readonly path: string
  readonly store: GlobalStore
  readonly clock: Clock
  readonly log: Logger
}

const lookEveryMs = 1_000

/** Whether a file holds a state, and not Kubernetes objects. */
export async function isStateFile(path: string): Promise<boolean> {
  const text = await readFile(path, 'utf8').catch(() => '')
  return /^(?:nodes|services)\s*:/m.test(text) && !/^kind\s*:/m.test(text)
}

export class StateFileSource {
  readonly #options: StateFileSourceOptions
  #lastText: string | undefined
  #lastProblem = ''

  constructor(options: StateFileSourceOptions) {
    this.#options = options
  }

  async run(signal: AbortSignal): Promise<void> {
    const { path, clock } = this.#options
    let lastSeen = ''
    while (!signal.aborted) {
      const seen = await stat(path).then(
        ({ mtimeMs, size, ino }) => `${mtimeMs} ${size} ${ino}`,
        () => 'missing',
      )
      if (seen !== lastSeen) await this.#load()
      lastSeen = seen
      await clock.sleep(lookEveryMs, signal).catch(() => {})
    }
  }

  async #load(): Promise<void> {
    const { path, store, log } = this.#options
    try {
      const text = await readFile(path, 'utf8')
      if (text === this.#lastText) return
      fillStore(store, parseStateFile(text, path))
      this.#lastText = text
      this.#lastProblem = ''
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error)
      if (problem !== this.#lastProblem)
        log.error('the state file is ignored; its last good content stays in use', { problem })
      this.#lastProblem = problem
    }
  }
}
