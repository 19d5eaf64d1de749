/** One worker thread of the relay: sends requests, receives answers and log lines, and notices when it dies. */
import { Worker } from 'node:worker_threads'
import type { Clock } from '../../../core/clock.ts'
import type { Logger } from '../../../core/logger.ts'
import type { ListenerSpec, ListenResult } from '../relay.ts'
import type { OnConnection } from '../connection-report.ts'
import { detectHang } from '../detect-hang.ts'
import type { FromWorker, LogLine, SharedCells, ToWorker, WorkerSettings } from './worker-messages.ts'

export interface RelayThreadOptions {
  /** `relay-worker.ts`, compiled. */
  readonly program: URL
  readonly settings: WorkerSettings
  readonly log: Logger
  readonly clock: Clock
  /** It ended without being told to; requests it had not answered have failed. */
  onDied(this: void, error: Error): void
  readonly onConnection?: OnConnection | undefined
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
  readonly #over = new AbortController()
  /** Set once it hangs and is being stopped. */
  #stuck: Error | undefined
  #calls = 0
  #isEnding = false

  constructor({ program, settings, log, clock, onDied, onConnection }: RelayThreadOptions) {
    this.#onDied = onDied
    this.#worker = new Worker(program, { workerData: settings })
    this.#worker.on('message', (message: FromWorker) => {
      if (message.kind === 'log') logLine(log, message.line)
      else if (message.kind === 'connection') onConnection?.(message.report)
      else this.#answered(message)
    })
    let cause: unknown
    this.#worker.on('error', (error) => (cause = error))
    this.#worker.on('exit', (code) =>
      this.#died(this.#stuck ?? new Error(`a relay thread ended with status ${code}`, { cause })),
    )
    const { stuckAfterMs } = settings.settings
    const ping = () => this.#ask({ kind: 'ping' })
    detectHang({ ping }, { clock, stuckAfterMs }, this.#over.signal).then(
      () => this.#endStuck(stuckAfterMs),
      () => {},
    )
  }

  async set(spec: ListenerSpec, cells: SharedCells): Promise<ListenResult> {
    const result = await this.#ask({ kind: 'set', spec, cells })
    if (result === undefined) throw new TypeError('a thread of the relay answers each listener')
    return result
  }

  async remove(id: string, isGentle: boolean): Promise<void> {
    await this.#ask({ kind: 'remove', id, isGentle })
  }

  /** Lets connections end within the grace, then ends the thread. */
  async end(): Promise<void> {
    this.#isEnding = true
    // If it dies instead, it has ended as well.
    await this.#ask({ kind: 'end' }).catch(() => {})
    await this.#worker.terminate()
  }

  /** Fails the pending requests at once, without waiting until the thread has really ended. */
  #endStuck(afterMs: number): void {
    this.#stuck = new Error(`a relay thread did not answer for ${afterMs / 1000} s and is stopped`)
    this.#failWaiting(this.#stuck)
    void this.#worker.terminate()
  }

  async #ask(request: Request): Promise<ListenResult | undefined> {
    if (this.#stuck !== undefined) throw this.#stuck
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

  #failWaiting(error: Error): void {
    for (const waiting of this.#waitingByCall.values()) waiting.reject(error)
    this.#waitingByCall.clear()
  }

  #died(error: Error): void {
    this.#over.abort()
    this.#failWaiting(error)
    if (!this.#isEnding) this.#onDied(error)
  }
}

function logLine(log: Logger, { severity, level, message, fields }: LogLine): void {
  if (severity === 'debug') log.debug(level, message, fields)
  else log[severity](message, fields)
}
