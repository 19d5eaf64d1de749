/** What one listener has done so far; open connections add their share when somebody asks. */
import type { TrafficCounts, TurnedAway } from './relay.ts'

export class ListenerCounters {
  connections = 0
  dialFailures = 0
  bytesIn = 0
  bytesOut = 0
  readonly #turnedAway: Record<TurnedAway, number> = {
    'no-endpoint': 0,
    unreachable: 0,
    'source-not-allowed': 0,
    overload: 0,
  }

  turnedAway(why: TurnedAway): void {
    this.#turnedAway[why]++
  }

  /** Adds the bytes of a connection that has ended. */
  add(bytes: { readonly bytesIn: number; readonly bytesOut: number }): void {
    this.bytesIn += bytes.bytesIn
    this.bytesOut += bytes.bytesOut
  }

  snapshot(active: Iterable<{ readonly bytesIn: number; readonly bytesOut: number }>): TrafficCounts {
    let { bytesIn, bytesOut } = this
    let count = 0
    for (const connection of active) {
      bytesIn += connection.bytesIn
      bytesOut += connection.bytesOut
      count++
    }
    const { connections, dialFailures } = this
    return { connections, active: count, bytesIn, bytesOut, dialFailures, turnedAway: { ...this.#turnedAway } }
  }
}
