/**
 * A node changes its mode, or its proxy: what the one before left would go on sending packets to endpoints of long ago.
 * It goes as soon as our own rules are complete, and not before, so that no packet is without rules.
 */
import type { Leftover } from '../../core/leftover.ts'
import type { Logger } from '../../core/logger.ts'
import type { AfterSync } from '../../core/sync/sync-runner.ts'
import type { Runnable } from '../run-all.ts'
import { leftoversOnNode } from './leftovers-on-node.ts'
import type { CleanupHost } from './leftovers-on-node.ts'
import { removeLeftovers, renderLeftover } from './remove-leftovers.ts'

export interface OtherModesOptions {
  /** The one that runs, which may be another than was asked for. */
  readonly mode: string
  /** How many families must be complete first. */
  readonly families: number
  /** The mode of the process that is handing over to this one, if any. */
  readonly takenFrom?: string | undefined
  readonly host: CleanupHost
  readonly stateDir: string
  /** Where the ebpf mode pins. */
  readonly pins: string
  readonly log: Logger
}

export class OtherModes implements Runnable {
  readonly #options: OtherModesOptions
  readonly #complete = new AbortController()
  /** Resolves when it has looked, and what could be removed is gone. */
  readonly done: Promise<void>
  #finish!: () => void
  #waitingFor: number

  constructor(options: OtherModesOptions) {
    this.#options = options
    this.#waitingFor = options.families
    this.done = new Promise((resolve) => (this.#finish = resolve))
  }

  /** Takes note of one family's first sync. */
  afterSync(): AfterSync {
    let isFirst = true
    return {
      name: 'note that our rules are complete',
      isNote: true,
      run: () => {
        if (isFirst && --this.#waitingFor === 0) this.#complete.abort()
        isFirst = false
      },
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    await aborted(AbortSignal.any([signal, this.#complete.signal]))
    if (signal.aborted) return
    try {
      await remove(this.#options, signal)
      if (!signal.aborted) this.#finish()
    } catch (error) {
      if (!signal.aborted) this.#options.log.warn('cannot look for leftovers of other proxy modes', { error })
      if (!signal.aborted) this.#finish()
    }
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** What cannot be removed is told and left: `--cleanup` says more. It is no reason to stop. */
async function remove(
  { mode, takenFrom, host, stateDir, pins, log }: OtherModesOptions,
  signal: AbortSignal,
): Promise<void> {
  await using found = await leftoversOnNode({ host, stateDir, pins, log }, signal, mode)
  // That process goes on with its open connections, and removes what they need when they have ended.
  const isStillNeeded = ({ modes, carriesOpen }: Leftover) =>
    carriesOpen === true && takenFrom !== undefined && modes.includes(takenFrom)
  const removals = found.removals.map((removal) => ({
    leftovers: removal.leftovers.filter((leftover) => !isStillNeeded(leftover)),
    remove: (going: readonly Leftover[], removing: AbortSignal) => removal.remove(going, removing),
  }))
  for (const note of found.notes ?? []) log.info('leftovers of another node stay', { note })
  for await (const outcome of removeLeftovers(removals, signal, mode)) {
    if ('problem' in outcome) {
      log.warn('a leftover of another proxy mode could not be removed', { problem: outcome.problem })
      continue
    }
    const [first] = outcome.removed
    if (first === undefined) continue
    log.info('removed leftovers of another proxy mode', { count: outcome.removed.length, first: renderLeftover(first) })
  }
}
