/** Objects by id, and by whatever else they are looked for. */
export class IndexedObjects<T extends { readonly id: string }> {
  readonly #objectsById = new Map<string, T>()
  readonly #idsByKey = new Map<string, Set<string>>()
  readonly #keysOf: (object: T) => readonly string[]

  constructor(keysOf: (object: T) => readonly string[]) {
    this.#keysOf = keysOf
  }

  get all(): readonly T[] {
    return [...this.#objectsById.values()]
  }

  get(id: string): T | undefined {
    return this.#objectsById.get(id.toLowerCase())
  }

  with(key: string): readonly T[] {
    return Array.from(this.#idsByKey.get(key) ?? [], (id) => this.#objectsById.get(id)).filter((it) => it !== undefined)
  }

  put(object: T): T {
    const before = this.get(object.id)
    if (before !== undefined) this.#forgetKeys(before)
    this.#objectsById.set(object.id, object)
    for (const key of this.#keysOf(object)) {
      const ids = this.#idsByKey.get(key) ?? new Set()
      this.#idsByKey.set(key, ids.add(object.id))
    }
    return object
  }

  delete(id: string): void {
    const object = this.get(id)
    if (object === undefined) return
    this.#forgetKeys(object)
    this.#objectsById.delete(object.id)
  }

  replaceAll(objects: readonly T[]): void {
    for (const { id } of this.all) this.delete(id)
    for (const object of objects) this.put(object)
  }

  #forgetKeys(object: T): void {
    for (const key of this.#keysOf(object)) {
      const ids = this.#idsByKey.get(key)
      ids?.delete(object.id)
      if (ids?.size === 0) this.#idsByKey.delete(key)
    }
  }
}
