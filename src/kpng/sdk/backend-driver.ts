/** Runs a backend: turns change sets into updates, and repeats them in full after a failure. */
import type { Clock } from '../../core/clock.ts'
import type { ChangeSet } from '../client/change-set.ts'
import { LocalState } from '../client/local-state.ts'
import type { BackendContext, KpngBackend, NodeUpdate } from './define-backend.ts'
import { nodeChanges } from './node-changes.ts'
import type { ChangedService } from './node-changes.ts'
import { nodeService } from './node-service.ts'
import type { NodeService, ServiceId } from './node-service.ts'
import { serviceEvents } from './service-events.ts'

const firstPauseMs = 1_000
const longestPauseMs = 30_000

export class BackendDriver implements AsyncDisposable {
  readonly #backend: KpngBackend
  readonly #context: BackendContext
  readonly #clock: Clock
  readonly #state: LocalState
  readonly #services = new Map<ServiceId, NodeService>()
  #isSetUp = false
  #isFullDue = true
  #problem: string | undefined = 'the backend has not been given a state yet'

  constructor(backend: KpngBackend, context: BackendContext, clock: Clock) {
    this.#backend = backend
    this.#context = context
    this.#state = new LocalState(context.log)
    this.#clock = clock
  }

  /** Why the backend does not have the current state. */
  get problem(): string | undefined {
    return this.#problem
  }

  /** Resolves when the backend has applied it. The server keeps what changes meanwhile. */
  async apply(changes: ChangeSet): Promise<void> {
    const { signal, log } = this.#context
    const changed = this.#take(changes)
    if (changed.length === 0 && !this.#isFullDue) return
    for (let pauseMs = firstPauseMs; !signal.aborted; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
      try {
        if (!this.#isSetUp) await this.#backend.setup?.(this.#context)
        this.#isSetUp = true
        await this.#backend.sync(this.#update(changed), this.#context)
        this.#isFullDue = false
        this.#problem = undefined
        return
      } catch (error) {
        this.#isFullDue = true
        this.#problem = `the backend failed: ${error instanceof Error ? error.message : String(error)}`
        if (signal.aborted) return
        log.error('the backend failed; it will be called again', { backend: this.#backend.name, error, pauseMs })
        await this.#clock.sleep(pauseMs, signal).catch(() => {})
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#backend.close?.()
  }

  #take(changes: ChangeSet): readonly ChangedService[] {
    return this.#state.apply(changes).map(({ path, after }) => {
      const before = this.#services.get(path)
      const now = after && nodeService(path, after)
      if (now === undefined) this.#services.delete(path)
      else this.#services.set(path, now)
      return { before, after: now }
    })
  }

  #update(changed: readonly ChangedService[]): NodeUpdate {
    const isFull = this.#isFullDue
    const all = isFull ? [...this.#services.values()].map((after) => ({ before: undefined, after })) : changed
    return { services: this.#services, isFull, changes: nodeChanges(all), events: serviceEvents(all) }
  }
}
