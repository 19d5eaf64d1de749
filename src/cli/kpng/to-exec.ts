/**
 * `… to-exec -- ./my-backend`: a program of your own that reads JSON lines. It gets the whole state first, then what
 * changes; it answers each batch with a line. Whenever it ends or fails, also long after its last answer, it is started
 * again with the whole state.
 */
import type { Clock } from '../../core/clock.ts'
import type { Logger } from '../../core/logger.ts'
import type { ChangeSet } from '../../kpng/client/change-set.ts'
import { batchLines } from '../../kpng/client/json-lines.ts'
import { LocalState } from '../../kpng/client/local-state.ts'
import type { ServiceChange } from '../../kpng/client/local-state.ts'
import { CommandError } from '../program.ts'
import { ExecProgram } from './exec-program.ts'

export interface ExecBackendOptions {
  readonly command: readonly string[]
  readonly node: string
  /** How long the program may take to read and answer a batch. */
  readonly answerWithinMs: number
  /** The program's environment, but for NODE_NAME. */
  readonly env: NodeJS.ProcessEnv
  readonly clock: Clock
  readonly log: Logger
}

const firstPauseMs = 500
const longestPauseMs = 30_000
/** A program that ran for this long and then fails is restarted after the first, short pause again. */
const forgetAfterMs = 2 * longestPauseMs

export class ExecBackend {
  readonly #options: ExecBackendOptions
  readonly #state: LocalState
  /** The number of the last batch; the program is told where each begins and ends. */
  #revision = 0
  /** What the last batch changed. */
  #difference: readonly ServiceChange[] = []
  /** The number of the newest batch that the program has accepted. */
  #taken = 0
  #problem: string | undefined = 'the program has not been given a state yet'
  #wake = () => {}
  #onTaken = () => {}

  constructor(options: ExecBackendOptions) {
    if ((options.command[0] ?? '') === '')
      throw new CommandError('to-exec needs a program: write it after "--", as in: to-exec -- ./backend')
    this.#options = options
    this.#state = new LocalState(options.log)
  }

  /** Why the program does not have the newest state. */
  get problem(): string | undefined {
    return this.#problem
  }

  /** Resolves when the program has accepted the changes, however often it must be started for that. Call it one at a time. */
  async apply(changes: ChangeSet, signal: AbortSignal): Promise<void> {
    this.#difference = this.#state.apply(changes)
    const revision = ++this.#revision
    this.#wake()
    await new Promise<void>((resolve) => {
      const done = () => {
        signal.removeEventListener('abort', done)
        resolve()
      }
      this.#onTaken = () => this.#taken >= revision && done()
      signal.addEventListener('abort', done, { once: true })
      if (signal.aborted) done()
    })
  }

  /** Keeps the program running until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, command } = this.#options
    signal.addEventListener('abort', () => this.#wake(), { once: true })
    while (this.#revision === 0 && !signal.aborted) await this.#awake()
    let pauseMs = firstPauseMs
    while (!signal.aborted) {
      const startedMs = clock.monotonic()
      const problem = await this.#live(signal)
      if (signal.aborted) return
      if (clock.monotonic() - startedMs > forgetAfterMs) pauseMs = firstPauseMs
      this.#problem = problem
      log.error('the backend program failed; it will be started again and get the whole state', {
        program: command[0],
        problem,
        nextTryMs: pauseMs,
      })
      await clock.sleep(pauseMs, signal).catch(() => {})
      pauseMs = Math.min(2 * pauseMs, longestPauseMs)
    }
  }

  /** Starts the program and feeds it; resolves, when it is gone, with what was wrong. */
  async #live(signal: AbortSignal): Promise<string> {
    const program = new ExecProgram(this.#options)
    const failure = await this.#feed(program, signal)
    const ending = await program.end(signal.aborted ? { t: 'bye', cleanup: false } : undefined)
    // A program that ends is first seen to have stopped reading; how it ended says more.
    return failure.isEnd ? (ending ?? failure.problem) : failure.problem
  }

  async #feed(program: ExecProgram, signal: AbortSignal): Promise<{ isEnd: boolean; problem: string }> {
    let told = 0
    for (;;) {
      while (told === this.#revision && program.problem === undefined && !signal.aborted) {
        program.onNews = () => this.#wake()
        await this.#awake()
      }
      if (program.problem !== undefined) return { isEnd: true, problem: program.problem }
      if (signal.aborted) return { isEnd: false, problem: 'it was told to end' }
      const to = this.#revision
      const isNext = told > 0 && told === to - 1
      const problem = await this.#tell(program, isNext ? told : undefined, to, signal)
      if (problem !== undefined) return { isEnd: program.problem !== undefined, problem }
      told = to
      this.#taken = to
      this.#problem = undefined
      this.#onTaken()
    }
  }

  async #tell(program: ExecProgram, from: number | undefined, to: number, signal: AbortSignal) {
    const { clock, answerWithinMs } = this.#options
    const answered = new AbortController()
    const late = new AbortController()
    clock.sleep(answerWithinMs, answered.signal).then(
      () => late.abort(),
      () => {},
    )
    const changes = from === undefined ? this.#everything() : this.#difference
    try {
      return await program.tell(batchLines({ from, to, changes }), to, AbortSignal.any([late.signal, signal]))
    } finally {
      answered.abort()
    }
  }

  *#everything(): Generator<ServiceChange> {
    for (const [path, after] of this.#state.services()) yield { path, before: undefined, after }
  }

  #awake(): Promise<void> {
    return new Promise((resolve) => (this.#wake = resolve))
  }
}
