/** Clients that ask each Service of the sample application through the proxy, for as long as somebody looks. */
import type { Clock } from '../../../core/clock.ts'
import type { DemoClient } from '../../../observe/console/wire.ts'
import { ask } from './ask.ts'
import type { Question } from './ask.ts'

export interface DemoTrafficOptions {
  /** `NAMESPACE/NAME` of each Service. */
  readonly services: readonly string[]
  readonly clientAddresses: readonly string[]
  /** Where a Service is served now. */
  readonly addressOf: (service: string) => Question['to'] | undefined
  readonly clock: Clock
  /** 0 ≤ x < 1. */
  readonly random: () => number
  /** Somebody was answered, or not. */
  readonly onAnswer: () => void
}

/** Each client asks each Service once in this time, and all of them spread over it. */
const roundMs = 1_200
const remembered = 20

export class DemoTraffic {
  readonly #options: DemoTrafficOptions
  readonly #pairs: readonly Pair[]

  constructor(options: DemoTrafficOptions) {
    this.#options = options
    this.#pairs = options.clientAddresses.flatMap((client) =>
      options.services.map((service) => ({ client, service, answers: [], isAsking: false })),
    )
  }

  clientsOf(service: string): readonly DemoClient[] {
    return this.#pairs
      .filter((pair) => pair.service === service)
      .map(({ client, answers }) => ({ address: client, answers }))
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#options
    const asking = new Map<Pair, Promise<void>>()
    while (!signal.aborted)
      // In another order each time: replicas take turns, and with the same order each client would meet the same one.
      for (const pair of shuffled(this.#pairs, random)) {
        if (!pair.isAsking) asking.set(pair, this.#ask(pair, signal))
        await clock.sleep(roundMs / this.#pairs.length, signal).catch(() => {})
        if (signal.aborted) break
      }
    await Promise.all(asking.values())
  }

  async #ask(pair: Pair, signal: AbortSignal): Promise<void> {
    const { addressOf, onAnswer } = this.#options
    const to = addressOf(pair.service)
    if (to === undefined) return
    pair.isAsking = true
    const answer = await ask({ from: pair.client, to }, signal)
    pair.isAsking = false
    if (signal.aborted) return
    pair.answers = [...pair.answers, answer].slice(-remembered)
    onAnswer()
  }
}

function shuffled<T>(list: readonly T[], random: () => number): readonly T[] {
  return list
    .map((one) => ({ one, place: random() }))
    .sort((left, right) => left.place - right.place)
    .map(({ one }) => one)
}

interface Pair {
  readonly client: string
  readonly service: string
  answers: readonly string[]
  /** A slow answer makes its client slow, not many. */
  isAsking: boolean
}
