/** A set of texts, each of which stays as long as somebody wants it. */
export class Counted {
  readonly #counts = new Map<string, number>()

  get size(): number {
    return this.#counts.size
  }

  has(text: string): boolean {
    return this.#counts.has(text)
  }

  [Symbol.iterator](): IterableIterator<string> {
    return this.#counts.keys()
  }

  add(text: string, step: 1 | -1): void {
    const count = (this.#counts.get(text) ?? 0) + step
    if (count === 0) this.#counts.delete(text)
    else this.#counts.set(text, count)
  }
}
