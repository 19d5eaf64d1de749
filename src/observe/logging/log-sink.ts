import type { Writable } from 'node:stream'
import type { Clock } from '../../core/clock.ts'
import type { LogRecord } from './log-record.ts'

export interface LogStreams {
  readonly stdout: Writable
  readonly stderr: Writable
}

export interface LogSinkOptions {
  /** Errors to stderr and everything else to stdout. Otherwise all lines go to stderr, unbuffered. */
  readonly splitStream: boolean
  /** With split streams: how many bytes for stdout may wait; 0 writes each line at once. */
  readonly infoBufferBytes: number
  /** The longest time that a buffered line waits. */
  readonly flushIntervalMs: number
}

/** If a stream breaks (the reader of a pipe is gone), lines are lost and nothing else happens. */
export class LogSink {
  readonly #options: LogSinkOptions
  readonly #streams: LogStreams
  readonly #clock: Clock
  #waiting: string[] = []
  #waitingLength = 0
  #flushTimer: AbortController | undefined

  constructor(options: LogSinkOptions, streams: LogStreams, clock: Clock) {
    this.#options = options
    this.#streams = streams
    this.#clock = clock
    // Without a listener an EPIPE would end the process, and logging must never stop the proxy.
    for (const stream of new Set([streams.stdout, streams.stderr]))
      if (!stream.listeners('error').includes(ignore)) stream.on('error', ignore)
  }

  write(severity: LogRecord['severity'], line: string): void {
    if (!this.#options.splitStream) return writeTo(this.#streams.stderr, line)
    if (severity === 'error') {
      this.flush() // so that what led to the error is shown, too
      return writeTo(this.#streams.stderr, line)
    }
    if (this.#options.infoBufferBytes === 0) return writeTo(this.#streams.stdout, line)
    this.#waiting.push(line)
    this.#waitingLength += line.length
    if (this.#waitingLength >= this.#options.infoBufferBytes) this.flush()
    else this.#flushLater()
  }

  flush(): void {
    this.#flushTimer?.abort()
    this.#flushTimer = undefined
    if (this.#waiting.length === 0) return
    const text = this.#waiting.join('')
    this.#waiting = []
    this.#waitingLength = 0
    writeTo(this.#streams.stdout, text)
  }

  #flushLater(): void {
    if (this.#flushTimer !== undefined) return
    this.#flushTimer = new AbortController()
    this.#clock.sleep(this.#options.flushIntervalMs, this.#flushTimer.signal).then(
      () => this.flush(),
      () => {}, // flushed earlier
    )
  }
}

function ignore(): void {}

function writeTo(stream: Writable, text: string): void {
  try {
    stream.write(text)
  } catch {
    // As with its error event, there is nowhere left to report it.
  }
}
