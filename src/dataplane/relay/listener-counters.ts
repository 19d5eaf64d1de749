/**
 * What one listener has done so far. The numbers are in memory that threads can share: one thread relays and counts,
 * another reads without asking it, and the numbers outlive the thread that wrote them.
 */
import type { Limited, TrafficCounts, TurnedAway } from './relay.ts'

const cellNames = [
  'connections',
  'active',
  'bytesIn',
  'bytesOut',
  'waitingBytes',
  'dialFailures',
  'seconds',
  'no-endpoint',
  'unreachable',
  'source-not-allowed',
  'overload',
  'aged',
  'aged-reset',
  'waited',
  'max-connections',
  'max-dials-per-second',
] as const
type Cell = (typeof cellNames)[number]

const indexOf = Object.fromEntries(cellNames.map((name, index) => [name, index])) as Readonly<Record<Cell, number>>

export class ListenerCounters {
  /** Only the thread that relays writes here. */
  readonly cells: Float64Array

  constructor(cells: Float64Array = new Float64Array(cellNames.length)) {
    this.cells = cells
  }

  static shared(): ListenerCounters {
    return new ListenerCounters(new Float64Array(new SharedArrayBuffer(cellNames.length * 8)))
  }

  /** What several writers have counted for one listener. */
  static sumOf(parts: readonly ListenerCounters[]): ListenerCounters {
    const sum = new ListenerCounters()
    for (const { cells } of parts)
      for (let index = 0; index < sum.cells.length; index++)
        sum.cells[index] = (sum.cells[index] ?? 0) + (cells[index] ?? 0)
    return sum
  }

  add(cell: Exclude<Cell, TurnedAway | Limited>, amount: number): void {
    this.#add(cell, amount)
  }

  turnedAway(why: TurnedAway): void {
    this.#add(why, 1)
  }

  limited(how: Limited): void {
    this.#add(how, 1)
  }

  /** The thread that relayed is gone, and its connections with it. */
  forgetActive(): void {
    this.cells[indexOf.active] = 0
    this.cells[indexOf.waitingBytes] = 0
  }

  get active(): number {
    return this.#get('active')
  }

  get waitingBytes(): number {
    return this.#get('waitingBytes')
  }

  snapshot(): TrafficCounts {
    return {
      connections: this.#get('connections'),
      active: this.active,
      bytesIn: this.#get('bytesIn'),
      bytesOut: this.#get('bytesOut'),
      dialFailures: this.#get('dialFailures'),
      seconds: this.#get('seconds'),
      turnedAway: {
        'no-endpoint': this.#get('no-endpoint'),
        unreachable: this.#get('unreachable'),
        'source-not-allowed': this.#get('source-not-allowed'),
        overload: this.#get('overload'),
        'max-connections': this.#get('max-connections'),
        'max-dials-per-second': this.#get('max-dials-per-second'),
      },
      limited: { aged: this.#get('aged'), 'aged-reset': this.#get('aged-reset'), waited: this.#get('waited') },
    }
  }

  #get(cell: Cell): number {
    return this.cells[indexOf[cell]] ?? 0
  }

  #add(cell: Cell, amount: number): void {
    const index = indexOf[cell]
    this.cells[index] = (this.cells[index] ?? 0) + amount
  }
}
