/** Which Services have which key. Nearly every key belongs to one Service, so a set is made only where there are more. */
import type { ObjectKey } from '../../api/records.ts'

export class SharedIndex {
  readonly #servicesByKey = new Map<string, ObjectKey | Set<ObjectKey>>()

  add(key: string, service: ObjectKey): void {
    const known = this.#servicesByKey.get(key)
    if (known === undefined || known === service) this.#servicesByKey.set(key, service)
    else if (typeof known === 'object') known.add(service)
    else this.#servicesByKey.set(key, new Set([known, service]))
  }

  delete(key: string, service: ObjectKey): void {
    const known = this.#servicesByKey.get(key)
    if (known === service) this.#servicesByKey.delete(key)
    if (typeof known !== 'object') return
    known.delete(service)
    const [only] = known
    if (known.size === 1 && only !== undefined) this.#servicesByKey.set(key, only)
  }

  addOthersThan(service: ObjectKey, key: string, to: Set<ObjectKey>): void {
    for (const other of this.othersThan(service, key)) to.add(other)
  }

  keys(): Iterable<string> {
    return this.#servicesByKey.keys()
  }

  all(key: string): readonly ObjectKey[] {
    const known = this.#servicesByKey.get(key)
    if (known === undefined) return nobody
    return typeof known === 'object' ? [...known] : [known]
  }

  hasOthersThan(service: ObjectKey, key: string): boolean {
    const known = this.#servicesByKey.get(key)
    return known !== undefined && known !== service
  }

  /** Undefined where nobody shares the key with another. */
  sharersOf(key: string): ReadonlySet<ObjectKey> | undefined {
    const known = this.#servicesByKey.get(key)
    return typeof known === 'object' ? known : undefined
  }

  othersThan(service: ObjectKey, key: string): readonly ObjectKey[] {
    const known = this.#servicesByKey.get(key)
    if (known === undefined || known === service) return nobody
    return typeof known === 'object' ? [...known].filter((other) => other !== service) : [known]
  }
}

const nobody: readonly ObjectKey[] = []
