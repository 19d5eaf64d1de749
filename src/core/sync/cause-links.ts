/** Links to the events that caused a sync: the first few, and how many more there are. */
import type { SpanLink } from '../trace.ts'

export interface LinkedCauses {
  readonly links: readonly SpanLink[]
  readonly more: number
}

export const noLinkedCauses: LinkedCauses = { links: [], more: 0 }

/** In the trace of one sync. */
const mostShown = 32
/** While they wait for it: which ones will be shown is not known before. */
const mostKept = 1000

export class CauseLinks {
  readonly #linksByCause = new Map<string, SpanLink[]>()
  /** How often each is in there: an event may have changed several Services. */
  readonly #uses = new Map<SpanLink, number>()
  #notKept = 0

  get causes(): LinkedCauses {
    const { links, more } = shownOf([...this.#uses.keys()])
    return { links, more: more + this.#notKept }
  }

  add(cause: string, link: SpanLink | undefined): void {
    if (link === undefined) return
    const uses = this.#uses.get(link) ?? 0
    if (uses === 0 && this.#uses.size >= mostKept) {
      this.#notKept++
      return
    }
    this.#uses.set(link, uses + 1)
    const links = this.#linksByCause.get(cause)
    if (links === undefined) this.#linksByCause.set(cause, [link])
    else links.push(link)
  }

  forget(cause: string): void {
    for (const link of this.#linksByCause.get(cause) ?? []) {
      const uses = this.#uses.get(link) ?? 0
      if (uses > 1) this.#uses.set(link, uses - 1)
      else this.#uses.delete(link)
    }
    this.#linksByCause.delete(cause)
  }
}

/** What a failed sync was to program, the next one does. */
export function bothCauses(failed: LinkedCauses, next: LinkedCauses): LinkedCauses {
  const { links, more } = shownOf([...new Set([...failed.links, ...next.links])])
  return { links, more: more + failed.more + next.more }
}

function shownOf(links: readonly SpanLink[]): LinkedCauses {
  if (links.length <= mostShown) return { links, more: 0 }
  return { links: links.slice(0, mostShown), more: links.length - mostShown }
}
