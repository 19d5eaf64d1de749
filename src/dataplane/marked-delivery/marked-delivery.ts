/**
 * The interface to the routing rule that delivers marked packets to this machine, whatever their destination. Each
 * implementation passes `marked-delivery.contract.ts`.
 */
import type { Family } from '../../net/ip.ts'

/** Every method rejects with a NetlinkError, or with the signal's reason. */
export interface MarkedDelivery {
  readonly numbers: DeliveryNumbers
  /** Does nothing if the rule exists. */
  ensure(family: Family, signal: AbortSignal): Promise<void>
  /** Does nothing if the rule does not exist. */
  remove(family: Family, signal: AbortSignal): Promise<void>
  isThere(family: Family, signal: AbortSignal): Promise<boolean>
}

export interface DeliveryNumbers {
  /** A bit of the packet's mark. */
  readonly mark: number
  /** The routing table that makes every address local. */
  readonly table: number
  /** The kernel tries the rule with the lowest number first. The numbers before and after it are taken, too. */
  readonly priority: number
}
