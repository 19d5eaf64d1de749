/** The console's stream of events, as its page reads it. */
import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { once } from 'node:events'
import type { LiveEvents } from '../../../src/observe/console/wire.ts'
import { EventStreamReader } from '../../../web/live/event-stream.ts'
import { eventually } from './eventually.ts'

export class LiveStream implements AsyncDisposable {
  readonly #response: IncomingMessage
  readonly #last = new Map<string, unknown>()
  readonly #ended: Promise<unknown>

  private constructor(response: IncomingMessage) {
    this.#response = response
    const reader = new EventStreamReader()
    response.setEncoding('utf8').on('data', (text: string) => {
      for (const { name, data } of reader.read(text)) this.#last.set(name, JSON.parse(data))
    })
    response.on('error', () => {})
    this.#ended = once(response, 'close')
  }

  static async open(consoleUrl: string, ...topics: readonly string[]): Promise<LiveStream> {
    const url = new URL('/api/live', consoleUrl)
    for (const topic of topics) url.searchParams.append('topic', topic)
    const asked = request(url, { agent: false }).on('error', () => {})
    asked.end()
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    return new LiveStream(response)
  }

  /** What the last event of this name said, once it fits; `attempt` throws as long as it does not. */
  tells<Name extends keyof LiveEvents, T>(name: Name, attempt: (data: LiveEvents[Name]) => T): Promise<T> {
    return eventually(() => {
      const data = this.#last.get(name)
      if (data === undefined) throw new Error(`the stream has not told of ${name}`)
      return attempt(data as LiveEvents[Name])
    })
  }

  async ended(): Promise<void> {
    await this.#ended
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#response.destroy()
    await this.#ended
  }
}
