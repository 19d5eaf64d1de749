import type { KindSink } from '../../kind-sink.ts'
import type { WatchEvent } from './watch-events.ts'

/** Collects the events of a streaming list until the server says that they are complete. */
export class InitialEvents<Item> {
  readonly #sink: KindSink<Item>
  readonly #itemsByKey = new Map<string, Item>()

  constructor(sink: KindSink<Item>) {
    this.#sink = sink
  }

  /** Objects may change while they are being sent, so all kinds of events occur. */
  add(event: WatchEvent): void {
    const item = this.#sink.read(event.object)
    // The sink has already reported an object without a name. It must only not replace another one.
    const key = event.key ?? `\0${this.#itemsByKey.size}`
    if (event.type === 'DELETED') this.#itemsByKey.delete(key)
    else {
      this.#itemsByKey.set(key, item)
      this.#sink.foresee?.(item)
    }
  }

  get items(): readonly Item[] {
    return [...this.#itemsByKey.values()]
  }
}
