/** The steps of the sync that runs, as its trace shows them: plan, apply, and each commit to the data plane. */
import { noSpan, within } from '../trace.ts'
import type { Span, SpanAttributes } from '../trace.ts'

/** Only one sync runs at a time, so whatever is committed belongs to it. Outside of a sync nothing is recorded. */
export class SyncSteps {
  #sync: Span = noSpan
  #applying: Span = noSpan

  /** Of the sync that runs. */
  get span(): Span {
    return this.#sync
  }

  async during<T>(span: Span | undefined, work: () => Promise<T>): Promise<T> {
    this.#sync = this.#applying = span ?? noSpan
    try {
      return await work()
    } finally {
      this.#sync = this.#applying = noSpan
    }
  }

  /** Works out what to send. */
  plan<T>(work: () => T, countsOf?: (planned: T) => SpanAttributes, name = 'plan'): T {
    const span = this.#sync.child(name)
    try {
      const planned = work()
      if (span.isRecorded && countsOf !== undefined) span.set(countsOf(planned))
      span.end()
      return planned
    } catch (error) {
      span.end(error)
      throw error
    }
  }

  /** Looks what is there. */
  read<T>(work: (span: Span) => Promise<T>): Promise<T> {
    return within(this.#sync, 'read', work)
  }

  /** Sends it; what is committed meanwhile is part of it. */
  apply<T>(work: (span: Span) => Promise<T>, name = 'apply', attributes?: SpanAttributes): Promise<T> {
    const before = this.#applying
    return within(
      this.#sync,
      name,
      async (span) => {
        this.#applying = span
        try {
          return await work(span)
        } finally {
          this.#applying = before
        }
      },
      attributes,
    )
  }

  /** One transaction of a kernel, or one run of a tool. */
  commit<T>(work: (span: Span) => Promise<T>, attributes?: SpanAttributes): Promise<T> {
    return within(this.#applying, 'commit', work, attributes)
  }
}
