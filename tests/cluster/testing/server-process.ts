import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { openSync, closeSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

/** A server program that a test started, with its output in a log file; it ends with the test at the latest. */
export class ServerProcess implements AsyncDisposable {
  readonly #name: string
  readonly #logFile: string
  readonly #child: ChildProcess
  readonly #killAtExit: () => void
  #startError: Error | undefined

  constructor(name: string, executable: string, args: readonly string[], logFile: string) {
    this.#name = name
    this.#logFile = logFile
    const log = openSync(logFile, 'a')
    this.#child = spawn(executable, args, { stdio: ['ignore', log, log] })
    closeSync(log)
    this.#child.once('error', (error) => {
      this.#startError = error
    })
    this.#killAtExit = () => this.#child.kill('SIGKILL')
    // A test runner that is stopped half-way disposes of nothing.
    process.once('exit', this.#killAtExit)
    this.#child.once('exit', () => process.removeListener('exit', this.#killAtExit))
  }

  get isRunning(): boolean {
    return this.#startError === undefined && this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** Null while it runs, and when a signal ended it. */
  get exitCode(): number | null {
    return this.#child.exitCode
  }

  /** Asks until the answer is yes; gives up when the process ends or the time is over, and then shows the log. */
  async waitUntil(what: string, isTrue: () => Promise<boolean>, timeoutMs = 90_000): Promise<void> {
    const deadline = Date.now() + timeoutMs
    for (;;) {
      // Asked first: while a server starts, "no" and "cannot be reached" are the same answer.
      if (await isTrue().catch(() => false)) return
      if (!this.isRunning) {
        const cause = this.#startError
        throw new Error(`${this.#name} ended before it was ${what}. ${await this.#logTail()}`, { cause })
      }
      if (Date.now() > deadline) {
        throw new Error(`${this.#name} was not ${what} within ${timeoutMs / 1000} s. ${await this.#logTail()}`)
      }
      await sleep(50)
    }
  }

  /** SIGKILL is an outage; SIGTERM lets the server say goodbye to its clients first. */
  async stop(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    if (!this.isRunning) return
    const exited = once(this.#child, 'exit')
    this.#child.kill(signal)
    await exited
  }

  /** The data of a test is thrown away, so there is nothing to end gracefully. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop('SIGKILL')
  }

  async #logTail(): Promise<string> {
    const lines = (await readFile(this.#logFile, 'utf8')).trimEnd().split('\n')
    return `The end of its log (${this.#logFile}):\n${lines.slice(-30).join('\n')}`
  }
}
