/** What can be followed in the stream of the console, and by whom. Nobody looks: nothing is kept, and no timer runs. */
import type { LiveEvents } from './wire.ts'

/** One open stream. */
export interface Viewer {
  send<Name extends keyof LiveEvents>(event: Name, data: LiveEvents[Name]): void
  /** The same, of what is JSON already: made once, however many look. */
  sendText(event: keyof LiveEvents, json: string): void
  /** Much of what was sent waits to be read: until it was, a topic remembers what has changed, and sends nothing. */
  readonly isBehind: boolean
}

export interface LiveTopic {
  /** Up to the first slash: `overview`, `service`. */
  readonly name: string
  /** Sends the whole of it, then what changes, until it is disposed. */
  follow(rest: readonly string[], viewer: Viewer): Disposable
}
