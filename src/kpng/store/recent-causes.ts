/** Which events of the last revisions changed which Services: the newest few, for peers that are not far behind. */
import type { SpanContext } from '../../core/trace.ts'
import type { Cause } from '../wire/causes.ts'

/** In one change set. */
const mostTold = 32
const mostKept = 256

interface Stamped extends Cause {
  /** The first that has the change; undefined until it is made. */
  revision: number | undefined
}

export class RecentCauses {
  readonly #causes: Stamped[] = []

  note(service: string, context: SpanContext): void {
    this.#causes.push({ service, context, revision: undefined })
    if (this.#causes.length > mostKept) this.#causes.shift()
  }

  /** What was noted so far is in this revision. */
  stamp(revision: number): void {
    for (const cause of this.#causes) cause.revision ??= revision
  }

  /** What a peer with this revision has not seen; the last event of each Service. */
  since(revision: number): readonly Cause[] {
    const causes = new Map<string, Cause>()
    for (const { service, context, revision: stamped } of this.#causes)
      if (stamped !== undefined && stamped > revision) causes.set(service, { service, context })
    return [...causes.values()].slice(-mostTold)
  }
}
