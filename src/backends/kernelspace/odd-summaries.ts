/** How an HNS lists load balancers that are as they shall be, where that is not how we would expect it. */
import type { LoadBalancerSummary } from '../../dataplane/hcn/hcn.ts'
import { isListedAs, textOf } from './find-drift.ts'
import type { HeldBalancer } from './held.ts'

/** Without this, an HNS whose list tells less than we think would be read again and again, in vain. */
export class OddSummaries {
  #texts: ReadonlySet<string> = new Set()

  /** The balancers were just read, so they are the truth; what the list says of them is how this HNS says it. */
  note(balancers: readonly HeldBalancer[], summaries: readonly LoadBalancerSummary[]): void {
    const byId = new Map(summaries.map((summary) => [summary.id, summary]))
    this.#texts = new Set(
      balancers.flatMap(({ id, settings }) => {
        const summary = byId.get(id)
        return summary === undefined || isListedAs(settings, summary) ? [] : [oddText(summary)]
      }),
    )
  }

  has(summary: LoadBalancerSummary): boolean {
    return this.#texts.has(oddText(summary))
  }
}

function oddText(summary: LoadBalancerSummary): string {
  return `${summary.id} ${textOf(summary)}`
}
