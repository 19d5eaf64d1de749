/**
 * The streams of server-sent events. While none is open there is no timer; a reader that is slow is told to the topics as
 * one that is behind, and one that makes this process hold too much is cut off: it comes back and starts anew.
 */
import type { ServerResponse } from 'node:http'
import type { Clock } from '../../../core/clock.ts'
import type { Logger } from '../../../core/logger.ts'
import type { LiveTopic, Viewer } from '../live-topic.ts'
import type { About, LiveEvents } from '../wire.ts'

export interface LiveStreamsOptions {
  readonly about: () => About
  readonly topics: readonly LiveTopic[]
  readonly clock: Clock
  readonly log: Logger
}

export interface OpenStream {
  /** `service/default/web` */
  readonly topics: readonly string[]
  /** Asked from time to time: the token may have changed. */
  readonly mayStay: () => boolean
}

export const maxStreams = 32
/** A page follows a few. */
const maxTopics = 16
/** So that nothing on the way takes the stream for dead. */
const keepAliveMs = 15_000
/** What waits in this process to be read by one client: from when on it is behind, and at most. */
const [behindBytes, tooManyBytes] = [256 * 1024, 16 * 1024 * 1024]

export class LiveStreams implements Disposable {
  readonly #options: LiveStreamsOptions
  readonly #topicByName: ReadonlyMap<string, LiveTopic>
  readonly #open = new Set<Stream>()
  #keepingAlive: AbortController | undefined
  #isClosed = false

  constructor(options: LiveStreamsOptions) {
    this.#options = options
    this.#topicByName = new Map(options.topics.map((topic) => [topic.name, topic]))
  }

  get isFull(): boolean {
    return this.#open.size >= maxStreams || this.#isClosed
  }

  /** Unknown topics are left out: `about` says which there are. */
  open(response: ServerResponse, { topics, mayStay }: OpenStream): void {
    // Whatever follows on this connection would wait for the end of the stream.
    response.shouldKeepAlive = false
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' })
    const stream = new Stream(response, mayStay)
    this.#open.add(stream)
    response.once('close', () => this.#ended(stream))
    this.#keepAlive()
    stream.send('about', this.#options.about())
    for (const topic of new Set(topics.slice(0, maxTopics))) this.#follow(topic, stream)
  }

  /** Ends them all, and lets no other begin. */
  [Symbol.dispose](): void {
    this.#isClosed = true
    for (const stream of this.#open) stream.end()
  }

  #follow(text: string, stream: Stream): void {
    const [name = '', ...rest] = text.split('/')
    const topic = this.#topicByName.get(name)
    if (topic === undefined) return
    this.#guarded(text, stream, () => stream.following.push(topic.follow(rest, stream)))
  }

  #ended(stream: Stream): void {
    this.#open.delete(stream)
    for (const follow of stream.following.splice(0)) this.#guarded('the end', stream, () => follow[Symbol.dispose]())
    if (this.#open.size > 0) return
    this.#keepingAlive?.abort()
    this.#keepingAlive = undefined
  }

  #guarded(topic: string, stream: Stream, step: () => void): void {
    try {
      step()
    } catch (error) {
      this.#options.log.error('a stream of the console has ended', { topic, error })
      stream.cut()
    }
  }

  #keepAlive(): void {
    if (this.#keepingAlive !== undefined) return
    const ended = new AbortController()
    this.#keepingAlive = ended
    void this.#beat(ended.signal)
  }

  async #beat(signal: AbortSignal): Promise<void> {
    for (;;) {
      try {
        await this.#options.clock.sleep(keepAliveMs, signal)
      } catch {
        return // nobody looks any more
      }
      for (const stream of this.#open) stream.beat()
    }
  }
}

class Stream implements Viewer {
  readonly following: Disposable[] = []
  readonly #response: ServerResponse
  readonly #mayStay: () => boolean

  constructor(response: ServerResponse, mayStay: () => boolean) {
    this.#response = response
    this.#mayStay = mayStay
  }

  get isBehind(): boolean {
    return this.#response.writableLength >= behindBytes
  }

  send<Name extends keyof LiveEvents>(event: Name, data: LiveEvents[Name]): void {
    this.sendText(event, JSON.stringify(data))
  }

  /** JSON has no line break outside of its strings, and there they are escaped. */
  sendText(event: keyof LiveEvents, json: string): void {
    const response = this.#response
    if (response.writableEnded || response.destroyed) return
    if (response.writableLength > tooManyBytes) return this.cut()
    response.write(`event: ${event}\ndata: ${json}\n\n`)
  }

  /** One that reads nothing gets nothing: then the server closes the connection after a while. */
  beat(): void {
    if (!this.#mayStay()) this.end()
    else if (!this.isBehind && !this.#response.writableEnded) this.#response.write(':\n\n')
  }

  end(): void {
    this.#response.end()
    // What is not read by now need not be.
    if (this.isBehind) this.cut()
  }

  cut(): void {
    this.#response.destroy()
  }
}
