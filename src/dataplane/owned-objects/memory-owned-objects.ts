/** Known only as long as the process lives. */
import type { OwnedObjects } from './owned-objects.ts'

export class MemoryOwnedObjects implements OwnedObjects {
  readonly #objects: Set<string>

  constructor(objects: Iterable<string> = []) {
    this.#objects = new Set(objects)
  }

  has(object: string): boolean {
    return this.#objects.has(object)
  }

  async add(objects: readonly string[]): Promise<void> {
    for (const object of objects) this.#objects.add(object)
  }

  async remove(objects: readonly string[]): Promise<void> {
    for (const object of objects) this.#objects.delete(object)
  }

  list(): readonly string[] {
    return [...this.#objects]
  }
}
