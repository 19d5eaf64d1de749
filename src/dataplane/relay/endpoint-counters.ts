/**
 * What one endpoint of a pool has carried so far. As with `ListenerCounters`, one thread writes the numbers and another
 * may read them.
 */
import type { DialFailure, EndpointCounts } from './relay.ts'

const cellNames = [
  'connections',
  'active',
  'bytesIn',
  'bytesOut',
  'seconds',
  'lastUsedMs',
  'refused',
  'timeout',
  'unreachable',
  'other',
] as const
type Cell = (typeof cellNames)[number]

export const endpointCells = cellNames.length

const indexOf = Object.fromEntries(cellNames.map((name, index) => [name, index])) as Readonly<Record<Cell, number>>

export class EndpointCounters {
  /** Only the thread that relays writes here. */
  readonly cells: Float64Array

  constructor(cells: Float64Array = new Float64Array(endpointCells)) {
    this.cells = cells
  }

  /** What several writers have counted for one endpoint. */
  static sumOf(parts: readonly EndpointCounters[]): EndpointCounters {
    const sum = new EndpointCounters()
    for (const part of parts)
      for (const name of cellNames) {
        const [all, one] = [sum.#get(name), part.#get(name)]
        sum.cells[indexOf[name]] = name === 'lastUsedMs' ? Math.max(all, one) : all + one
      }
    return sum
  }

  opened(atMs: number): void {
    this.add('connections', 1)
    this.add('active', 1)
    this.cells[indexOf.lastUsedMs] = atMs
  }

  closed(seconds: number): void {
    this.add('active', -1)
    this.add('seconds', seconds)
  }

  failed(why: DialFailure): void {
    this.add(why, 1)
  }

  add(cell: Cell, amount: number): void {
    const index = indexOf[cell]
    this.cells[index] = (this.cells[index] ?? 0) + amount
  }

  /** Whoever had the connections is gone. */
  forgetActive(): void {
    this.cells[indexOf.active] = 0
  }

  get active(): number {
    return this.#get('active')
  }

  snapshot(): EndpointCounts {
    const lastUsedMs = this.#get('lastUsedMs')
    return {
      connections: this.#get('connections'),
      active: this.active,
      bytesIn: this.#get('bytesIn'),
      bytesOut: this.#get('bytesOut'),
      seconds: this.#get('seconds'),
      ...(lastUsedMs > 0 && { lastUsedMs }),
      dialFailures: {
        refused: this.#get('refused'),
        timeout: this.#get('timeout'),
        unreachable: this.#get('unreachable'),
        other: this.#get('other'),
      },
    }
  }

  #get(cell: Cell): number {
    return this.cells[indexOf[cell]] ?? 0
  }
}
