/**
 * The one door to the routing rule that delivers marked packets to this machine, whatever their destination is. Each
 * implementation passes `marked-delivery.contract.ts`.
 */
import type { Family } from '../../net/ip.ts'

/** Every method rejects with a NetlinkError, or with the signal's reason. */
export interface MarkedDelivery {
  readonly numbers: DeliveryNumbers
  /** One that is there is fine. */
  ensure(family: Family, signal: AbortSignal): Promise<void>
  /** One that is not there is fine. */
  remove(family: Family, signal: AbortSignal): Promise<void>
  isThere(family: Family, signal: AbortSignal): Promise<boolean>
}

export interface DeliveryNumbers {
  /** A bit of the packet's mark. */
  readonly mark: number
  /** The routing table that makes every address local. */
  readonly table: number
  /** Where the rule stands among the others: the lowest number is asked first. */
  readonly priority: number
}
