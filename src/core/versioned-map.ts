/**
 * A map that never changes, of which a changed copy costs as much as the change. Plans hold one entry for each of many
 * thousand Services, and one endpoint must not cost a copy of all of them.
 *
 * All versions share one plain map, which is always that of the version read last; the others know how to get there. So
 * reading the newest version is as fast as reading a plain map, and reading an old one costs the changes since.
 */
export class VersionedMap<K, V> {
  #content: { readonly shared: Map<K, V> } | { readonly next: VersionedMap<K, V>; readonly undo: Changes<K, V> }

  /** The map must not be changed by anybody else afterwards. */
  constructor(map: Map<K, V> = new Map()) {
    this.#content = { shared: map }
  }

  get(key: K): V | undefined {
    return this.#shared().get(key)
  }

  has(key: K): boolean {
    return this.#shared().has(key)
  }

  get size(): number {
    return this.#shared().size
  }

  /** A list, so that other versions may be read while it is looked at. In no particular order, like the others. */
  entries(): readonly (readonly [K, V])[] {
    return [...this.#shared()]
  }

  keys(): readonly K[] {
    return [...this.#shared().keys()]
  }

  values(): readonly V[] {
    return [...this.#shared().values()]
  }

  /** Undefined as a value removes the key. */
  with(changes: Changes<K, V>): VersionedMap<K, V> {
    if (changes.size === 0) return this
    const shared = this.#shared()
    // As much to undo as there is: then a copy costs less, and nothing has to be undone.
    if (changes.size >= shared.size) return new VersionedMap(changed(shared, changes))
    const next = new VersionedMap<K, V>()
    this.#handOver(shared, changes, next)
    return next
  }

  /** Makes the shared map that of this version. */
  #shared(): Map<K, V> {
    if ('shared' in this.#content) return this.#content.shared
    // A loop, because there may be thousands of versions between: each hands the map over to the one before it.
    const path: VersionedMap<K, V>[] = [this]
    let owner = this.#content.next
    while ('next' in owner.#content) {
      path.push(owner)
      owner = owner.#content.next
    }
    const { shared } = owner.#content
    for (const version of path.toReversed()) {
      if ('undo' in version.#content) owner.#handOver(shared, version.#content.undo, version)
      owner = version
    }
    return shared
  }

  #handOver(shared: Map<K, V>, changes: Changes<K, V>, next: VersionedMap<K, V>): void {
    const undo = new Map<K, V | undefined>()
    for (const [key, value] of changes) {
      undo.set(key, shared.get(key))
      if (value === undefined) shared.delete(key)
      else shared.set(key, value)
    }
    this.#content = { next, undo }
    next.#content = { shared }
  }
}

function changed<K, V>(map: ReadonlyMap<K, V>, changes: Changes<K, V>): Map<K, V> {
  const copy = new Map(map)
  for (const [key, value] of changes)
    if (value === undefined) copy.delete(key)
    else copy.set(key, value)
  return copy
}

export type Changes<K, V> = ReadonlyMap<K, V | undefined>
