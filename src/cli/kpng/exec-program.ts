/** A backend program from its start to its end. It is sent batches, and answers each with a line. */
import { spawn } from 'node:child_process'
import type { ChildProcessByStdio } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import type { Clock } from '../../core/clock.ts'
import { findProgram, hiddenNote } from '../../host/find-program.ts'

export interface ExecProgramOptions {
  readonly command: readonly string[]
  readonly node: string
  readonly env: NodeJS.ProcessEnv
  readonly clock: Clock
}

/** How long a program may take to end by itself when it is asked to. */
const graceMs = 2_000

export class ExecProgram {
  /** Called when the program has ended, answered, or read what was written. */
  onNews = () => {}
  readonly #clock: Clock
  readonly #child: ChildProcessByStdio<Writable, Readable, null> | undefined
  readonly #exited: Promise<void>
  /** How it ended, once it has. */
  #ending: string | undefined
  #hasClosedInput = false
  #answer: Answer | undefined

  constructor({ command, node, env, clock }: ExecProgramOptions) {
    this.#clock = clock
    const [program = '', ...args] = command
    let settle = () => {}
    this.#exited = new Promise((resolve) => (settle = resolve))
    const over = (ending: string) => {
      this.#ending ??= ending
      settle()
      this.onNews()
    }
    try {
      this.#child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'], env: { ...env, NODE_NAME: node } })
    } catch (error) {
      over(startProblem(program, error, env['PATH']))
      return
    }
    const child = this.#child
    child.on('exit', (code, killer) => over(killer === null ? `it ended with exit code ${code}` : `${killer} ended it`))
    child.on('error', (error) => child.pid === undefined && over(startProblem(program, error, env['PATH'])))
    child.stdin.on('error', () => {
      this.#hasClosedInput = true
      this.onNews()
    })
    child.stdin.on('drain', () => this.onNews())
    createInterface({ input: child.stdout }).on('line', (line) => {
      this.#answer = parseAnswer(line) ?? this.#answer
      this.onNews()
    })
    this.#write({ t: 'welcome', protocol: 1, node })
  }

  /** Why nothing more can be sent to it. */
  get problem(): string | undefined {
    return this.#ending ?? (this.#hasClosedInput ? 'it does not read any more' : undefined)
  }

  /** Sends a batch and waits for the answer. Resolves with what went wrong, if anything did. */
  async tell(lines: Iterable<string>, revision: number, signal: AbortSignal): Promise<string | undefined> {
    const isOver = () => this.problem !== undefined || signal.aborted
    for (const line of lines) {
      if (isOver()) break
      this.#child?.stdin.write(`${line}\n`)
      while (!isOver() && this.#child?.stdin.writableNeedDrain === true) await this.#news(signal)
    }
    while (!isOver() && this.#answer?.to !== String(revision)) await this.#news(signal)
    if (this.#answer?.to === String(revision))
      return this.#answer.t === 'ack' ? undefined : `it refused the batch: ${this.#answer.reason}`
    return this.problem ?? 'it did not answer in time'
  }

  /** Asks it to end, and kills it if it does not. Resolves when it is gone, with how it ended if it ended by itself. */
  async end(words?: object): Promise<string | undefined> {
    const child = this.#child
    if (child === undefined || this.#ending !== undefined) return this.#ending
    if (words !== undefined) this.#write(words)
    child.stdin.end()
    const grace = new AbortController()
    await Promise.race([this.#exited, this.#clock.sleep(graceMs, grace.signal).catch(() => {})])
    grace.abort()
    const ownEnding = this.#ending
    if (ownEnding === undefined) child.kill('SIGKILL')
    await this.#exited
    return ownEnding
  }

  #write(message: object): void {
    if (this.problem === undefined) this.#child?.stdin.write(`${JSON.stringify(message)}\n`)
  }

  #news(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        signal.removeEventListener('abort', done)
        resolve()
      }
      this.onNews = done
      signal.addEventListener('abort', done, { once: true })
    })
  }
}

interface Answer {
  readonly t: string
  readonly to: string
  readonly reason: string
}

/** A program may print other lines too; they are skipped. */
function parseAnswer(text: string): Answer | undefined {
  try {
    const { t, to, reason } = JSON.parse(text) as Readonly<Record<string, unknown>>
    return (t === 'ack' || t === 'nack') && typeof to === 'string'
      ? { t, to, reason: typeof reason === 'string' ? reason : 'no reason given' }
      : undefined
  } catch {
    return undefined
  }
}

/** Why a program did not start. */
export function startProblem(program: string, error: unknown, path: string | undefined): string {
  const { code, message = String(error) } = error as { readonly code?: string; readonly message?: string }
  if (code === 'ENOENT') return `there is no program ${JSON.stringify(program)}`
  const where = findProgram(program, path)
  if (code === 'EACCES' && where.kind === 'missing')
    return `there is no program ${JSON.stringify(program)}${hiddenNote(where)}`
  if (code === 'EACCES') return `${JSON.stringify(program)} may not be executed: is it a program, with mode +x?`
  return `${JSON.stringify(program)} cannot be started: ${message}`
}
