/** One answer for all who ask before the question is put. Who asks later gets a newer one: the first may be out of date. */

/** Puts the question; tells by `isPut` when it is too late to join. */
export type Question<T> = (isPut: () => void, signal: AbortSignal) => Promise<T>

interface Round<T> {
  readonly answer: Promise<T>
  readonly stop: AbortController
  waiting: number
}

export class SharedAnswer<T> {
  readonly #question: Question<T>
  /** Still open to others. */
  #next: Round<T> | undefined

  constructor(question: Question<T>) {
    this.#question = question
  }

  /** The question is taken back when nobody waits for its answer any more. */
  async ask(signal: AbortSignal): Promise<T> {
    signal.throwIfAborted()
    const round = (this.#next ??= this.#begin())
    round.waiting++
    try {
      return await unlessAborted(round.answer, signal)
    } finally {
      round.waiting--
      if (round.waiting === 0) this.#end(round)
    }
  }

  #begin(): Round<T> {
    const stop = new AbortController()
    const isPut = () => {
      if (this.#next === round) this.#next = undefined
    }
    const answer = Promise.resolve().then(() => this.#question(isPut, stop.signal))
    answer.catch(() => {}) // Whoever asked may have left.
    const round: Round<T> = { answer, stop, waiting: 0 }
    return round
  }

  #end(round: Round<T>): void {
    if (this.#next === round) this.#next = undefined
    round.stop.abort(new Error('nobody waits for the answer'))
  }
}

async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop: (() => void) | undefined
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason as Error)
    signal.addEventListener('abort', stop, { once: true })
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    if (stop !== undefined) signal.removeEventListener('abort', stop)
  }
}
