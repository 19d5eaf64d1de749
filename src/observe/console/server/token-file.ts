/** The token that opens the console, from a file that may be replaced while the process runs. */
import { readFileSync } from 'node:fs'
import type { Clock } from '../../../core/clock.ts'
import type { Logger } from '../../../core/logger.ts'

const shortest = 16
const lookAgainAfterMs = 1000

export class TokenFile {
  readonly #path: string
  readonly #clock: Clock
  readonly #log: Logger
  #token: string | undefined
  #readAtMs: number
  #lastProblem = ''

  /** Throws a ConsoleTokenError if there is no token to use. */
  static open(path: string, clock: Clock, log: Logger): TokenFile {
    return new TokenFile(path, readToken(path), clock, log)
  }

  private constructor(path: string, token: string, clock: Clock, log: Logger) {
    this.#path = path
    this.#token = token
    this.#clock = clock
    this.#log = log
    this.#readAtMs = clock.monotonic()
  }

  /** Looks at the file when somebody asks, and not otherwise. Without a token that can be used, nobody gets in. */
  current(): string | undefined {
    const nowMs = this.#clock.monotonic()
    if (nowMs - this.#readAtMs < lookAgainAfterMs) return this.#token
    this.#readAtMs = nowMs
    try {
      this.#token = readToken(this.#path)
      this.#lastProblem = ''
    } catch (error) {
      this.#token = undefined
      const problem = error instanceof Error ? error.message : String(error)
      if (problem !== this.#lastProblem) this.#log.warn('nobody can open the console', { problem })
      this.#lastProblem = problem
    }
    return this.#token
  }
}

function readToken(path: string): string {
  let token
  try {
    token = readFileSync(path, 'utf8').trim()
  } catch (error) {
    throw new ConsoleTokenError('unreadable', path, `cannot be read: ${(error as Error).message}`)
  }
  if (/\s/.test(token)) throw new ConsoleTokenError('unusable', path, 'has more than one word in it')
  if (token.length < shortest)
    throw new ConsoleTokenError('unusable', path, `has a token of ${token.length} characters, not ${shortest} at least`)
  return token
}

/** There is no token to open the console with. */
class ConsoleTokenError extends Error {
  override readonly name = 'ConsoleTokenError'
  readonly reason: 'unreadable' | 'unusable'

  constructor(reason: ConsoleTokenError['reason'], path: string, problem: string) {
    super(`--console-token-file=${path} ${problem}; "openssl rand -hex 32" makes a token`)
    this.reason = reason
  }
}
