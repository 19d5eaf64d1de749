import type { Clock } from '../../core/clock.ts'

/**
 * The wall clock with microseconds, so that lines written within one millisecond keep their order. JavaScript's wall
 * clock counts whole milliseconds; the fraction comes from the monotonic clock, anchored anew when the two drift apart
 * (somebody set the time).
 */
export function microsecondClock(clock: Clock): () => number {
  let offset = clock.now() - clock.monotonic()
  return () => {
    const wall = clock.now()
    const fine = offset + clock.monotonic()
    if (Math.abs(fine - wall) < 2) return fine
    offset = wall - clock.monotonic()
    return wall
  }
}
