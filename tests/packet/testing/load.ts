/** Clients that connect again and again while something happens. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Family } from '../../../src/net/ip.ts'
import { answerDeadlineMs } from './answer-deadline.ts'
import type { Rig } from './rig.ts'
import type { Source, Target } from './row.ts'

export class Load implements AsyncDisposable {
  /** Who answered how often. */
  readonly answers = new Map<string, number>()
  readonly failures: string[] = []
  readonly #countsBySource = new Map<Source, number>()
  readonly #workers: readonly Promise<void>[]
  readonly #rig: Rig
  readonly #pauseMs: number
  #isOver = false

  /** A pause between connections leaves more of the machine to the proxies; by default there is none. */
  constructor(
    rig: Rig,
    flows: readonly { readonly from: Source; readonly to: Target; readonly family: Family }[],
    pauseMs = 0,
  ) {
    this.#rig = rig
    this.#pauseMs = pauseMs
    this.#workers = flows.map(({ from, to, family }) => this.#work(from, to, family))
  }

  get connections(): number {
    let sum = this.failures.length
    for (const count of this.answers.values()) sum += count
    return sum
  }

  /** Of these clients alone. All are counted when it has stopped. */
  connectionsFrom(source: Source): number {
    return this.#countsBySource.get(source) ?? 0
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#workers)
  }

  /** A test that fails leaves none behind. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  async #work(from: Source, to: Target, family: Family): Promise<void> {
    for (let n = 0; n < mostConnections && !this.#isOver; n++) {
      if (this.#pauseMs > 0) await sleep(this.#pauseMs)
      // Longer than it takes the kernel to send a lost packet twice again: what was dropped once counts as late, not
      // as failed, as it does for users.
      const outcome = await this.#rig.ask(from, to, family, answerDeadlineMs(10_000))
      this.#countsBySource.set(from, this.connectionsFrom(from) + 1)
      if (outcome.kind === 'answer') {
        const { answeredBy } = outcome.answer
        this.answers.set(answeredBy, (this.answers.get(answeredBy) ?? 0) + 1)
        if (answeredBy === 'beyond' || answeredBy === 'the node') this.failures.push(`answered by ${answeredBy}`)
      } else this.failures.push(`${from} ${family}: ${outcome.kind === 'failed' ? outcome.code : outcome.kind}`)
    }
  }
}

const mostConnections = 20_000
