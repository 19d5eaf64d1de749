/**
 * What is done while the first lists arrive: Services of which all kinds of objects are there are routed already. The network takes
 * longer than that, and once the last object has come, others wait. Nothing is said of any of them before the lists are complete.
 */
import type { ObjectKey } from '../../api/records.ts'
import type { Family } from '../../net/ip.ts'
import type { Catalog } from '../catalog.ts'
import type { ServiceNotice } from './service-notices.ts'

export interface RoutedAheadOptions {
  readonly catalog: Pick<Catalog, 'services' | 'slicesOf'>
  readonly family: Family
}

export class RoutedAhead {
  readonly #options: RoutedAheadOptions
  /** Those that are `routed` need no more. */
  readonly #states = new Map<ObjectKey, 'waiting' | 'routed' | 'outdated'>()
  readonly #notices = new Map<ObjectKey, readonly ServiceNotice[]>()

  constructor(options: RoutedAheadOptions) {
    this.#options = options
  }

  /** Something came that the routes of the Service depend on. */
  noteChange(service: ObjectKey): void {
    this.#states.set(service, this.#isStillWaiting(service) ? 'waiting' : 'outdated')
  }

  /**
   * Each is routed ahead once: with many slices, every slice would route all endpoints again. A slow start takes endpoints that
   * come later for new ones, so Services with rules for their traffic wait.
   */
  isReady(service: ObjectKey): boolean {
    const { catalog, family } = this.#options
    const record = catalog.services.get(service)
    if (!this.#isStillWaiting(service) || record?.clusterIPs[family] === undefined || record.traffic !== undefined)
      return false
    for (const slice of catalog.slicesOf(service).values()) if (slice.family === family) return true
    return false
  }

  noteRouted(service: ObjectKey): void {
    this.#states.set(service, 'routed')
  }

  /** What is wrong with the Service, to be told later: a rival for an address, or what explains one, may still be on its way. */
  keepNotices(service: ObjectKey, notices: readonly ServiceNotice[]): void {
    if (notices.length > 0) this.#notices.set(service, notices)
    else this.#notices.delete(service)
  }

  /** Also what came to nothing, such as slices of headless Services. */
  get toBeRouted(): readonly ObjectKey[] {
    return [...this.#states].flatMap(([service, state]) => (state === 'routed' ? [] : [service]))
  }

  get notices(): ReadonlyMap<ObjectKey, readonly ServiceNotice[]> {
    return this.#notices
  }

  #isStillWaiting(service: ObjectKey): boolean {
    return (this.#states.get(service) ?? 'waiting') === 'waiting'
  }
}
