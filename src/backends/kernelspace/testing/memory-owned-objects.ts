import type { OwnedObjects } from '../../../dataplane/owned-objects/owned-objects.ts'

export class MemoryOwnedObjects implements OwnedObjects {
  readonly #objects = new Set<string>()

  has(object: string): boolean {
    return this.#objects.has(object)
  }

  add(objects: readonly string[]): Promise<void> {
    for (const object of objects) this.#objects.add(object)
    return Promise.resolve()
  }

  remove(objects: readonly string[]): Promise<void> {
    for (const object of objects) this.#objects.delete(object)
    return Promise.resolve()
  }

  list(): readonly string[] {
    return [...this.#objects]
  }
}
