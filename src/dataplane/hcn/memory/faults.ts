/** Calls that fail, or do not return, because a test says so. */
import type { DriverCall } from './memory-driver.ts'

export interface Fault {
  /** Every operation, if there is none. */
  readonly operation?: DriverCall['operation']
  readonly where?: (call: DriverCall) => boolean
  /** The n-th such call from now on is the first that fails; the next one, unless told. */
  readonly nth?: number
  /** How many fail; one, unless told. */
  readonly times?: number
  /** Zero with a record is a failure, too. */
  readonly hresult?: number
  readonly record?: string
  /** What was done nevertheless: HNS did it and the answer was lost, or a load balancer without ports is left. */
  readonly effect?: 'nothing' | 'all' | 'half'
  /** The call does not return before. */
  readonly until?: Promise<unknown>
}

export class Faults {
  readonly #faults = new Set<{ readonly fault: Fault; seen: number }>()

  /** Returns what takes it away. */
  add(fault: Fault): () => void {
    const entry = { fault, seen: 0 }
    this.#faults.add(entry)
    return () => this.#faults.delete(entry)
  }

  for(call: DriverCall): Fault | undefined {
    let found: Fault | undefined
    for (const entry of this.#faults) {
      const { operation, where, nth = 1, times = 1 } = entry.fault
      if ((operation !== undefined && operation !== call.operation) || where?.(call) === false) continue
      entry.seen++
      if (entry.seen >= nth) found ??= entry.fault
      if (entry.seen >= nth + times - 1) this.#faults.delete(entry)
    }
    return found
  }
}
