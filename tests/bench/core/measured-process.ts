/**
 * A program under measurement. It gets the URL of the API server, prints a CompleteView in one line of JSON as soon as it
 * knows every object, follows changes until its standard input ends, then prints a FinalReport and exits. It runs
 * alone in its process, so that its memory is its own.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { ProcessCost } from './process-cost.ts'
import { sharedClockMs } from './shared-clock.ts'

export interface CompleteView extends ProcessCost {
  readonly atMs: number
  /** How many routes, or objects, it has: to tell fast from incomplete. */
  readonly entries: number
}

export interface FinalReport extends ProcessCost {
  /** Services that changed, and when the change was known. */
  readonly changes: readonly (readonly [service: string, atMs: number])[]
}

export interface MeasuredProgram {
  readonly name: string
  readonly command: readonly [program: string, ...args: readonly string[]]
}

export class MeasuredProcess implements AsyncDisposable {
  readonly startedAtMs: number
  readonly #program: MeasuredProgram
  readonly #child
  readonly #lines

  constructor(program: MeasuredProgram, url: string) {
    const [file, ...args] = program.command
    this.#program = program
    this.startedAtMs = sharedClockMs()
    this.#child = spawn(file, [...args, url], { stdio: ['pipe', 'pipe', 'inherit'] })
    this.#child.on('error', () => {}) // seen as the end of its output
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]()
  }

  async complete(): Promise<CompleteView> {
    return (await this.#nextMessage()) as CompleteView
  }

  /** Ends the process. */
  async finish(): Promise<FinalReport> {
    this.#child.stdin.end()
    const report = (await this.#nextMessage()) as FinalReport
    if (!this.#hasEnded) await once(this.#child, 'exit')
    const { exitCode } = this.#child
    if (exitCode !== 0) throw new Error(`${this.#program.name} ended with status ${exitCode}: its output is above`)
    return report
  }

  /** On the way out of a failure it may still be running. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#hasEnded) return
    this.#child.kill()
    await once(this.#child, 'exit')
  }

  get #hasEnded(): boolean {
    const { exitCode, signalCode, pid } = this.#child
    return exitCode !== null || signalCode !== null || pid === undefined
  }

  async #nextMessage(): Promise<unknown> {
    const line = await this.#lines.next()
    if (line.done === true)
      throw new Error(`${this.#program.name} ended before it had reported (${this.#program.command.join(' ')})`)
    return JSON.parse(line.value)
  }
}
