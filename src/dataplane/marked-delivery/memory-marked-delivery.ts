/** A routing rule that exists only in memory. */
import type { Family } from '../../net/ip.ts'
import { netlinkErrorFrom } from '../netlink/netlink-error.ts'
import type { DeliveryNumbers, MarkedDelivery } from './marked-delivery.ts'

export class MemoryMarkedDelivery implements MarkedDelivery {
  readonly numbers: DeliveryNumbers
  /** The errno for new rules. */
  refuseWith: number | undefined
  readonly #families = new Set<Family>()

  constructor(numbers: DeliveryNumbers) {
    this.numbers = numbers
  }

  async ensure(family: Family, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.refuseWith !== undefined) throw netlinkErrorFrom(this.refuseWith, 'add a routing rule')
    this.#families.add(family)
  }

  async remove(family: Family, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    this.#families.delete(family)
  }

  async isThere(family: Family, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted()
    return this.#families.has(family)
  }
}
