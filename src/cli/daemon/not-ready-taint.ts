/**
 * Takes the taint from this Node that keeps pods away until Services work here. Whenever it is there: a Node that was
 * deleted and registered anew has it again, although nothing is missing.
 */
import { objectKey } from '../../api/records.ts'
import type { Catalog } from '../../core/catalog.ts'
import type { Clock } from '../../core/clock.ts'
import type { Readiness } from '../../core/health/readiness.ts'
import type { Logger } from '../../core/logger.ts'
import type { KubeClient } from '../../sources/kube/kube-client.ts'
import { KubeError } from '../../sources/kube/kube-error.ts'
import type { Runnable } from '../run-all.ts'

export const notReadyTaint = 'fairlead.dev/not-ready'

export interface NotReadyTaintOptions {
  readonly client: Pick<KubeClient, 'request'>
  readonly catalog: Catalog
  readonly nodeName: string
  readonly readiness: Pick<Readiness, 'ready' | 'live'>
  /** The lists of the API server have arrived. */
  readonly isLive: () => boolean
  readonly askForSync: (cause: string) => void
  readonly clock: Clock
  readonly log: Logger
}

/** A first list comes by itself; nobody tells when. */
const liveLookMs = 200
/** After an answer, until the watch shows what it did; and after a failure, longer and longer. */
const firstPauseMs = 1_000
const longestPauseMs = 60_000
const tellAfterRefusals = 3

export class NotReadyTaint implements Runnable {
  readonly #options: NotReadyTaintOptions
  #wake = new AbortController()
  /** In a row. */
  #refusals = 0

  constructor(options: NotReadyTaintOptions) {
    this.#options = options
  }

  async run(signal: AbortSignal): Promise<void> {
    const { catalog, nodeName } = this.#options
    await this.#programmed(signal)
    const unsubscribe = catalog.subscribe({
      changed: ({ kind, key }) => {
        if (kind === 'Node' && key === nodeName) this.#wake.abort()
      },
    })
    try {
      for (let pauseMs = firstPauseMs; !signal.aborted;) {
        this.#wake = new AbortController()
        const outcome = await this.#removeIfThere(signal)
        pauseMs = outcome === 'failed' ? Math.min(longestPauseMs, 2 * pauseMs) : firstPauseMs
        await this.#sleep(outcome === 'not there' ? undefined : pauseMs, signal)
      }
    } finally {
      unsubscribe()
    }
  }

  /** From what the API server says now: saved state may lack a Service that a new pod needs. */
  async #programmed(signal: AbortSignal): Promise<void> {
    const { readiness, isLive, askForSync } = this.#options
    await aborted(AbortSignal.any([signal, readiness.ready]))
    while (!signal.aborted && !isLive()) await this.#sleep(liveLookMs, signal)
    // Lists that are equal to what was saved are no reason for a sync by themselves.
    if (!signal.aborted && !readiness.live.aborted) askForSync('the first lists have arrived')
    await aborted(AbortSignal.any([signal, readiness.live]))
  }

  async #removeIfThere(signal: AbortSignal): Promise<'not there' | 'removed' | 'failed'> {
    const { client, catalog, nodeName, log } = this.#options
    const keys = catalog.nodes.get(objectKey({ name: nodeName }))?.taintKeys ?? []
    const places = keys.flatMap((key, index) => (key === notReadyTaint ? [index] : []))
    if (places.length === 0) return 'not there'
    try {
      await client.request(
        {
          method: 'PATCH',
          path: `/api/v1/nodes/${encodeURIComponent(nodeName)}`,
          contentType: 'application/json-patch+json',
          body: removal(places),
        },
        signal,
      )
      this.#refusals = 0
      log.info('the Node is ready for pods: its taint was removed', { node: nodeName, taint: notReadyTaint })
      return 'removed'
    } catch (error) {
      if (!signal.aborted) this.#tell(error)
      return 'failed'
    }
  }

  #tell(error: unknown): void {
    const { log, nodeName } = this.#options
    const taint = notReadyTaint
    const reason = error instanceof KubeError ? error.reason : undefined
    this.#refusals = reason === 'invalid' ? this.#refusals + 1 : 0
    // An admission policy that denies says `invalid` too.
    if (this.#refusals >= tellAfterRefusals)
      return log.warn('the API server refuses again and again to remove the taint; will be retried', {
        node: nodeName,
        taint,
        error,
      })
    // Another one was removed or added meanwhile, and the watch will tell.
    if (reason === 'invalid' || reason === 'conflict')
      return log.debug(1, 'the taints of the Node have just changed, trying again', { node: nodeName, taint })
    if (reason === 'forbidden')
      return log.error(
        'the taint cannot be removed: allow the service account to patch nodes, or see which admission policy forbids it; will be retried',
        { node: nodeName, taint, error },
      )
    log.warn('the taint could not be removed, will be retried', { node: nodeName, taint, error })
  }

  /** Until the Node changes; without a time, only then. */
  async #sleep(ms: number | undefined, signal: AbortSignal): Promise<void> {
    const either = AbortSignal.any([signal, this.#wake.signal])
    if (ms === undefined) return aborted(either)
    await this.#options.clock.sleep(ms, either).catch(() => {})
  }
}

/**
 * All or nothing, and only what is named so: an entry that has moved meanwhile fails its test, and no other taint is
 * touched. The last one first, because the others move up.
 */
function removal(places: readonly number[]): readonly object[] {
  return [...places].reverse().flatMap((index) => [
    { op: 'test', path: `/spec/taints/${index}/key`, value: notReadyTaint },
    { op: 'remove', path: `/spec/taints/${index}` },
  ])
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
