/**
 * `… to-exec -- ./my-backend`: a program of your own that reads JSON lines. It gets the whole state first, then what
 * changes; it answers each batch with a line, or is restarted.
 */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Clock } from '../../core/clock.ts'
import type { Logger } from '../../core/logger.ts'
import type { ChangeSet } from '../../kpng/client/change-set.ts'
import { batchLines } from '../../kpng/client/json-lines.ts'
import { LocalState } from '../../kpng/client/local-state.ts'
import type { ServiceChange } from '../../kpng/client/local-state.ts'
import { CommandError } from '../program.ts'

export interface ExecBackendOptions {
  readonly command: readonly string[]
  readonly node: string
  /** How long the program may take to answer a batch. */
  readonly answerWithinMs: number
  readonly clock: Clock
  readonly log: Logger
}

const pauseMs = 1_000

export class ExecBackend implements AsyncDisposable {
  readonly #options: ExecBackendOptions
  readonly #state = new LocalState()
  #child: ChildProcess | undefined
  #answer: (text: string) => void = () => {}
  /** Counts the batches; the program sees where each begins and ends. */
  #revision = 0

  constructor(options: ExecBackendOptions) {
    this.#options = options
  }

  /** Resolves when the program has answered; starts it again, with the whole state, as often as it fails. */
  async apply(changes: ChangeSet, signal: AbortSignal): Promise<void> {
    const difference = this.#state.apply(changes)
    const from = this.#revision
    const to = ++this.#revision
    while (!signal.aborted) {
      const isWhole = this.#child === undefined || from === 0
      const lines = batchLines(
        isWhole ? { from: undefined, to, changes: this.#everything() } : { from, to, changes: difference },
      )
      const problem = await this.#tell(lines, to, signal)
      if (problem === undefined || signal.aborted) return
      this.#options.log.error('the backend failed; it is started again and gets the whole state', { problem })
      await this.#end()
      await this.#options.clock.sleep(pauseMs, signal).catch(() => {})
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child?.stdin?.writable === true)
      this.#child.stdin.write(`${JSON.stringify({ t: 'bye', cleanup: false })}\n`)
    await this.#end()
  }

  *#everything(): Generator<ServiceChange> {
    for (const [path, after] of this.#state.services()) yield { path, before: undefined, after }
  }

  /** Undefined when all is well, otherwise what is not. */
  async #tell(lines: Iterable<string>, revision: number, signal: AbortSignal): Promise<string | undefined> {
    const child = (this.#child ??= this.#start())
    const answered = new Promise<string | undefined>((resolve) => {
      this.#answer = (text) => {
        const answer = parseAnswer(text)
        if (answer?.to !== String(revision)) return
        resolve(answer.t === 'ack' ? undefined : `it refused the batch: ${answer.reason}`)
      }
      child.once('exit', (code, killed) => resolve(`it ended with ${killed ?? `exit code ${code}`}`))
      child.once('error', (error) => resolve(`it could not be started: ${error.message}`))
    })
    for (const line of lines) if (child.stdin?.write(`${line}\n`) === false) await drainedOrGone(child)
    const limit = new AbortController()
    const late = this.#options.clock
      .sleep(this.#options.answerWithinMs, AbortSignal.any([limit.signal, signal]))
      .then(() => 'it did not answer in time')
      .catch(() => undefined)
    const result = await Promise.race([answered, late])
    limit.abort()
    return result
  }

  #start(): ChildProcess {
    const [program = '', ...args] = this.#options.command
    if (program === '')
      throw new CommandError('to-exec needs a program: write it after "--", as in: to-exec -- ./backend')
    const env = { ...process.env, NODE_NAME: this.#options.node }
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'], env })
    child.on('error', () => {}) // seen by who waits for an answer
    child.stdin.on('error', () => {}) // its end shows as 'exit'
    createInterface({ input: child.stdout }).on('line', (line) => this.#answer(line))
    child.stdin.write(`${JSON.stringify({ t: 'welcome', protocol: 1, node: this.#options.node })}\n`)
    return child
  }

  async #end(): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (child === undefined || child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
    child.stdin?.end()
    const gone = once(child, 'exit')
    const grace = new AbortController()
    const wait = this.#options.clock.sleep(2_000, grace.signal).catch(() => {})
    await Promise.race([gone, wait])
    grace.abort()
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
    await gone
  }
}

interface Answer {
  readonly t: string
  readonly to: string
  readonly reason: string
}

/** Lines that are no answer are the program's own business. */
function parseAnswer(text: string): Answer | undefined {
  try {
    const { t, to, reason } = JSON.parse(text) as Readonly<Record<string, unknown>>
    return (t === 'ack' || t === 'nack') && typeof to === 'string'
      ? { t, to, reason: typeof reason === 'string' ? reason : 'it gave no reason' }
      : undefined
  } catch {
    return undefined
  }
}

async function drainedOrGone(child: ChildProcess): Promise<void> {
  const done = new AbortController()
  const wait = (event: string, emitter: ChildProcess | NonNullable<ChildProcess['stdin']>) =>
    once(emitter, event, { signal: done.signal }).catch(() => {})
  await Promise.race([wait('exit', child), ...(child.stdin === null ? [] : [wait('drain', child.stdin)])])
  done.abort()
}
