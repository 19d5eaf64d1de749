/** Places that Services claim, and who comes first at each: thousands may share one, and each asks who has it. */
import type { ObjectKey } from '../../api/records.ts'
import { SharedIndex } from './shared-index.ts'

export interface Rival<Kind> {
  readonly service: ObjectKey
  readonly kind: Kind
}

export interface ClaimedPlacesOptions<Kind> {
  /** The Service as a claimant of the address; undefined: its claim does not count. */
  readonly rivalAt: (service: ObjectKey, ip: string) => Rival<Kind> | undefined
  readonly precedes: (left: Rival<Kind>, right: Rival<Kind>) => boolean
}

/** A place is an address, or a part of one. */
interface Place {
  readonly ip: string
  readonly key: string
}

export class ClaimedPlaces<Kind> {
  readonly #options: ClaimedPlacesOptions<Kind>
  readonly #claimants = new SharedIndex()
  /** Nobody, where no claim counts. Only places that somebody has asked about, and that several Services claim. */
  readonly #firstByKey = new Map<string, Rival<Kind> | undefined>()

  constructor(options: ClaimedPlacesOptions<Kind>) {
    this.#options = options
  }

  keys(): Iterable<string> {
    return this.#claimants.keys()
  }

  all(key: string): readonly ObjectKey[] {
    return this.#claimants.all(key)
  }

  addOthersThan(service: ObjectKey, key: string, to: Set<ObjectKey>): void {
    this.#claimants.addOthersThan(service, key, to)
  }

  /** Who comes first; undefined where at most one Service claims the place. */
  first({ ip, key }: Place): Rival<Kind> | undefined {
    if (this.#firstByKey.has(key)) return this.#firstByKey.get(key)
    const sharers = this.#claimants.sharersOf(key)
    if (sharers === undefined) return undefined
    let first: Rival<Kind> | undefined
    for (const service of sharers) {
      const rival = this.#options.rivalAt(service, ip)
      if (rival !== undefined && (first === undefined || this.#options.precedes(rival, first))) first = rival
    }
    this.#firstByKey.set(key, first)
    return first
  }

  /**
   * A Service claims the place, or does so no more. Notes the others to whom that makes a difference, and returns whether
   * another one may come first now.
   */
  change(place: Place, service: ObjectKey, step: 'add' | 'delete', concerned: Set<ObjectKey>): boolean {
    const { key } = place
    const isKnown = this.#firstByKey.has(key)
    // Where several claim it and nobody has asked yet who is first, all of them were told before, and wait.
    const isAwaited = !isKnown && this.#claimants.sharersOf(key) !== undefined
    const isNews = !isAwaited && (!isKnown || this.#movesFirst(place, service, step))
    this.#claimants[step](key, service)
    if (isNews || this.#claimants.sharersOf(key) === undefined) this.forget(key)
    if (isNews) this.#claimants.addOthersThan(service, key, concerned)
    return isNews
  }

  /** Which claims count may be another matter now. */
  forget(key: string): void {
    this.#firstByKey.delete(key)
  }

  #movesFirst({ ip, key }: Place, service: ObjectKey, step: 'add' | 'delete'): boolean {
    const first = this.#firstByKey.get(key)
    if (first?.service === service) return true
    const rival = step === 'add' ? this.#options.rivalAt(service, ip) : undefined
    return rival !== undefined && (first === undefined || this.#options.precedes(rival, first))
  }
}
