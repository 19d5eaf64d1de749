/** Waits until a connection has its age, and then for the moment to end it (`connection-age.ts`). */
import { setImmediate as afterReads } from 'node:timers/promises'
import { ageStep, jittered } from '../connection-age.ts'
import type { RelayParts } from './relay-parts.ts'

/** A TCP connection, or what one UDP client and its endpoint send each other. */
export interface Ageing {
  readonly startedAtMs: number
  /** Grows with each read. */
  readonly lastRead: number
  /** When that was. Without it, what is new since the last look counts from that look. */
  readonly lastReadMs?: number | undefined
  /** It has an age, so the time of each read matters. */
  noteTimes?(now: () => number): void
  readonly isAnswered: boolean
  readonly canEnd: boolean
  end(): void
  endAtOnce(): void
}

/** There is no other endpoint: a connection that ended would come back to the same one. */
type HasNowhereToGo<T> = (one: T) => boolean

/** Those of one listener that have an age; most listeners have none. */
export class AgeWatches<T extends Ageing> {
  readonly #parts: RelayParts
  readonly #hasNowhereToGo: HasNowhereToGo<T>
  readonly #watchesByOne = new Map<T, { readonly ageMs: number; readonly over: AbortController }>()

  constructor(parts: RelayParts, hasNowhereToGo: HasNowhereToGo<T>) {
    this.#parts = parts
    this.#hasNowhereToGo = hasNowhereToGo
  }

  /** From now on it may become so old; undefined: any age. */
  follow(one: T, ageMs: number | undefined): void {
    if (this.#watchesByOne.get(one)?.ageMs === ageMs) return
    this.forget(one)
    if (ageMs === undefined) return
    const over = new AbortController()
    this.#watchesByOne.set(one, { ageMs, over })
    const { clock } = this.#parts
    one.noteTimes?.(() => clock.monotonic())
    // Whoever stops the watch knows why.
    watchAge(one, { ageMs, hasNowhereToGo: this.#hasNowhereToGo }, this.#parts, over.signal).catch(() => {})
  }

  forget(one: T): void {
    this.#watchesByOne.get(one)?.over.abort()
    this.#watchesByOne.delete(one)
  }
}

/** Resolves when it has been ended; rejects when the signal aborts. */
async function watchAge<T extends Ageing>(
  one: T,
  { ageMs, hasNowhereToGo }: { readonly ageMs: number; readonly hasNowhereToGo: HasNowhereToGo<T> },
  { clock, random }: Pick<RelayParts, 'clock' | 'random'>,
  signal: AbortSignal,
): Promise<void> {
  let dueMs = one.startedAtMs + jittered(ageMs, random)
  // Older than that before anybody asked: such connections must not all end at once.
  if (dueMs < clock.monotonic()) dueMs = clock.monotonic() + ageMs * random()
  let [seen, movedMs] = [-1, 0]
  for (;;) {
    const nowMs = clock.monotonic()
    if (one.lastRead !== seen) [seen, movedMs] = [one.lastRead, one.lastReadMs ?? nowMs]
    const { isAnswered, canEnd } = one
    const step = ageStep({ dueMs, graceMs: ageMs, movedMs, isAnswered, canEnd }, nowMs)
    if (nowMs >= dueMs && hasNowhereToGo(one)) dueMs = nowMs + jittered(ageMs, random)
    else if (step.kind === 'wait') await clock.sleep(Math.max(1, step.untilMs - nowMs), signal)
    else {
      // Timers come before sockets in a turn of the event loop: something may have come that is not read yet.
      await afterReads()
      signal.throwIfAborted()
      if (step.kind === 'end' && one.lastRead !== seen) continue
      return step.kind === 'end' ? one.end() : one.endAtOnce()
    }
  }
}
