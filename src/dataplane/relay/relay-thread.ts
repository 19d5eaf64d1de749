/** One worker thread of the relay: requests go in, answers and log lines come out, and its death is noticed. */
import { Worker } from 'node:worker_threads'
import type { Logger } from '../../core/logger.ts'
import type { ListenerSpec, ListenResult } from './relay.ts'
import type { FromWorker, LogLine, ToWorker, WorkerSettings } from './worker-messages.ts'

export interface RelayThreadOptions {
  /** `relay-worker.ts`, compiled. */
  readonly program: URL
  readonly settings: WorkerSettings
  readonly log: Logger
  /** The thread has ended although nobody told it to; what it was asked and had not done has failed. */
  onDied(this: void, error: Error): void
}

interface Waiting {
  resolve(result: ListenResult | undefined): void
  reject(error: Error): void
}

type Request = ToWorker extends infer One ? (One extends ToWorker ? Omit<One, 'call'> : never) : never

export class RelayThread {
  readonly #worker: Worker
  readonly #waitingByCall = new Map<number, Waiting>()
  readonly #onDied: (error: Error) => void
  #calls = 0
  #isEnding = false

  constructor({ program, settings, log, onDied }: RelayThreadOptions) {
    this.#onDied = onDied
    this.#worker = new Worker(program, { workerData: settings })
    this.#worker.on('message', (message: FromWorker) => {
      if (message.kind === 'log') logLine(log, message.line)
      else this.#answered(message)
    })
    let cause: unknown
    this.#worker.on('error', (error) => (cause = error))
    this.#worker.on('exit', (code) =>
      this.#died(new Error(`a thread of the relay ended with status ${code}`, { cause })),
    )
  }

  async set(spec: ListenerSpec, cells: Float64Array): Promise<ListenResult> {
    const result = await this.#ask({ kind: 'set', spec, cells })
    if (result === undefined) throw new TypeError('a thread of the relay answers each listener')
    return result
  }

  async remove(id: string): Promise<void> {
    await this.#ask({ kind: 'remove', id })
  }

  /** Lets connections end within the grace, then ends the thread. */
  async end(): Promise<void> {
    this.#isEnding = true
    // If it dies instead, it has ended as well.
    await this.#ask({ kind: 'end' }).catch(() => {})
    await this.#worker.terminate()
  }

  #ask(request: Request): Promise<ListenResult | undefined> {
    const call = this.#calls++
    return new Promise((resolve, reject) => {
      this.#waitingByCall.set(call, { resolve, reject })
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origin
      this.#worker.postMessage({ ...request, call })
    })
  }

  #answered({ call, result }: FromWorker<'done'>): void {
    this.#waitingByCall.get(call)?.resolve(result)
    this.#waitingByCall.delete(call)
  }

  #died(error: Error): void {
    for (const waiting of this.#waitingByCall.values()) waiting.reject(error)
    if (!this.#isEnding) this.#onDied(error)
  }
}

function logLine(log: Logger, { severity, level, message, fields }: LogLine): void {
  if (severity === 'debug') log.debug(level, message, fields)
  else log[severity](message, fields)
}
