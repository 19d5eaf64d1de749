/**
 * What Services carry, read while somebody looks. To read takes long where a kernel lists everything, so it may take one
 * part in fifty of the time and no more.
 */
import type { Clock } from '../../../core/clock.ts'
import type { Logger } from '../../../core/logger.ts'
import type { CarriedView, TrafficBook } from '../../traffic/traffic-book.ts'

const shortestRestMs = 1_000
const restPerReading = 50

/** The next reading waits for what it does with this one. */
type Listener = (carried: readonly CarriedView[], signal: AbortSignal) => Promise<void> | void

export interface PacedTrafficOptions {
  readonly book: Pick<TrafficBook, 'read' | 'readSoon'>
  readonly clock: Clock
  readonly log: Logger
}

export class PacedTraffic {
  readonly #options: PacedTrafficOptions
  /** With what each still does with what it was told. */
  readonly #listeners = new Map<Listener, Promise<void>>()
  #running: AbortController | undefined
  #last: readonly CarriedView[] = []

  constructor(options: PacedTrafficOptions) {
    this.#options = options
  }

  /** Of each family that can be told; empty until somebody has looked for a moment. */
  get last(): readonly CarriedView[] {
    return this.#last
  }

  /** Returns the function that ends it. */
  subscribe(listener: Listener): () => void {
    this.#listeners.set(listener, Promise.resolve())
    if (this.#running === undefined) {
      this.#running = new AbortController()
      void this.#run(this.#running.signal)
    } else if (this.#last.length > 0) void this.#tell(listener, this.#running.signal)
    return () => {
      if (!this.#listeners.delete(listener) || this.#listeners.size > 0) return
      this.#running?.abort(ended)
      this.#running = undefined
      this.#last = []
    }
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    for (let isFirst = true; !signal.aborted; isFirst = false) {
      const startedAt = clock.monotonic()
      await this.#read(signal)
      // One reading has no rates, and is slow in a process that has not done it before: who looks waits for the second.
      const dueMs = isFirst ? 0 : restPerReading * (clock.monotonic() - startedAt)
      await clock.sleep(Math.max(shortestRestMs, dueMs), signal).catch(() => {})
    }
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { book } = this.#options
    // How long it takes shows here; the book says in the log what fails.
    await book.read().catch(() => {})
    if (signal.aborted) return
    const { carried } = await book.readSoon()
    if (signal.aborted || isSame(carried, this.#last)) return
    this.#last = carried
    for (const listener of this.#listeners.keys()) await this.#tell(listener, signal)
  }

  #tell(listener: Listener, signal: AbortSignal): Promise<void> {
    const told = this.#listeners
      .get(listener)
      ?.then(() => listener(this.#last, signal))
      .catch((error: unknown) => this.#options.log.error('the console cannot tell what Services carry', { error }))
    if (told === undefined) return Promise.resolve()
    this.#listeners.set(listener, told)
    return told
  }
}

function isSame(left: readonly CarriedView[], right: readonly CarriedView[]): boolean {
  return left.length === right.length && left.every((it, index) => it === right[index])
}

/** Without a reason of ours each would get an exception with a stack. */
const ended = 'ended'
