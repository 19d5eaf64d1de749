/**
 * What `/readyz` answers: whether this node has been programmed once, in every family, be it from saved state. From then on
 * it stays ready.
 */
import type { Family } from '../../net/ip.ts'
import type { AfterSync } from '../sync/sync-runner.ts'

export interface ReadinessOptions {
  readonly families: readonly Family[]
  /** Services and EndpointSlices are complete, from the source or from saved state. */
  readonly hasObjects: () => boolean
  /** They are what the source says now, not what was saved. */
  readonly isLive: () => boolean
}

interface Check {
  readonly name: string
  /** What is missing. */
  readonly missing: string | undefined
}

export interface ReadyAnswer {
  readonly status: 200 | 503
  /** In the words of Kubernetes' own `/readyz`. */
  readonly body: string
}

export class Readiness {
  readonly #options: ReadinessOptions
  readonly #waitingFor: Set<Family>
  readonly #ready = new AbortController()
  readonly #waitingForLive: Set<Family>
  readonly #live = new AbortController()
  /** Families whose sync under way, or last one, began with live objects. */
  readonly #beganLive = new Set<Family>()

  constructor(options: ReadinessOptions) {
    this.#options = options
    this.#waitingFor = new Set(options.families)
    this.#waitingForLive = new Set(options.families)
  }

  /** Aborts once every family has been programmed. */
  get ready(): AbortSignal {
    return this.#ready.signal
  }

  /** Aborts once every family has been programmed from what the source says now. */
  get live(): AbortSignal {
    return this.#live.signal
  }

  /** A sync of the family is about to take what it programs. */
  begins(family: Family): void {
    // Each sync begins with this question, and it does not matter any more.
    if (this.#live.signal.aborted) return
    if (this.#options.isLive()) this.#beganLive.add(family)
  }

  afterSync(): AfterSync {
    return {
      name: 'note that the family is programmed',
      isNote: true,
      run: ({ view }) => {
        // Each abort makes an error with a stack, and after the first ones there is nothing to say.
        if (this.#live.signal.aborted) return
        this.#waitingFor.delete(view.family)
        if (this.#waitingFor.size === 0 && !this.#ready.signal.aborted) this.#ready.abort()
        if (this.#beganLive.has(view.family)) this.#waitingForLive.delete(view.family)
        if (this.#waitingForLive.size === 0) this.#live.abort()
      },
    }
  }

  readyz({ isVerbose }: { readonly isVerbose: boolean }): ReadyAnswer {
    const isReady = this.#ready.signal.aborted
    const status = isReady ? 200 : 503
    if (isReady && !isVerbose) return { status, body: 'ok' }
    const lines = this.#checks().map(({ name, missing }) =>
      missing === undefined ? `[+]${name} ok` : `[-]${name} failed: ${missing}`,
    )
    return { status, body: [...lines, `readyz check ${isReady ? 'passed' : 'failed'}`, ''].join('\n') }
  }

  #checks(): readonly Check[] {
    const hasObjects = this.#options.hasObjects()
    return [
      { name: 'objects', missing: hasObjects ? undefined : 'Services and EndpointSlices have not been listed yet' },
      ...this.#options.families.map((family) => ({
        name: `first-sync-${family}`,
        missing: this.#waitingFor.has(family) ? 'nothing has been programmed yet' : undefined,
      })),
    ]
  }
}
