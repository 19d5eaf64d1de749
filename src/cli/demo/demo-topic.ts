/** The topic `demo` of the console. The clients ask while somebody follows it, and at no other time. */
import type { Clock } from '../../core/clock.ts'
import type { LiveTopic, Viewer } from '../../observe/console/live-topic.ts'
import type { DemoState } from '../../observe/console/wire.ts'
import type { Runnable } from '../run-all.ts'

export interface DemoTopicOptions {
  readonly state: () => DemoState
  readonly traffic: Runnable
  readonly clock: Clock
}

/** At most so often. */
const paceMs = 250

export class DemoTopic implements LiveTopic {
  readonly name = 'demo'
  readonly #options: DemoTopicOptions
  /** Those that have not been sent what it is now. */
  readonly #waitingByViewer = new Map<Viewer, boolean>()
  #looking: AbortController | undefined

  constructor(options: DemoTopicOptions) {
    this.#options = options
  }

  /** What it shows is another one now. */
  changed(): void {
    for (const viewer of this.#waitingByViewer.keys()) this.#waitingByViewer.set(viewer, true)
  }

  follow(_rest: readonly string[], viewer: Viewer): Disposable {
    this.#waitingByViewer.set(viewer, false)
    viewer.send('demo', this.#options.state())
    this.#looking ??= this.#look()
    return {
      [Symbol.dispose]: () => {
        this.#waitingByViewer.delete(viewer)
        if (this.#waitingByViewer.size > 0) return
        this.#looking?.abort()
        this.#looking = undefined
      },
    }
  }

  #look(): AbortController {
    const looking = new AbortController()
    void this.#options.traffic.run(looking.signal)
    void this.#sendChanges(looking.signal)
    return looking
  }

  async #sendChanges(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#options.clock.sleep(paceMs, signal).catch(() => {})
      const ready = [...this.#waitingByViewer].filter(([viewer, isWaiting]) => isWaiting && !viewer.isBehind)
      if (signal.aborted || ready.length === 0) continue
      const text = JSON.stringify(this.#options.state())
      for (const [viewer] of ready) {
        this.#waitingByViewer.set(viewer, false)
        viewer.sendText('demo', text)
      }
    }
  }
}
