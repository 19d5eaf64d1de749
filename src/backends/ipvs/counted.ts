/** A set of texts, each of which stays as long as somebody wants it. */
export class Counted implements Iterable<string> {
  /** Nearly all are wanted once. */
  readonly #texts = new Set<string>()
  readonly #countsOfMore = new Map<string, number>()

  get size(): number {
    return this.#texts.size
  }

  has(text: string): boolean {
    return this.#texts.has(text)
  }

  [Symbol.iterator](): IterableIterator<string> {
    return this.#texts.values()
  }

  add(text: string): void {
    if (this.#texts.has(text)) this.#countsOfMore.set(text, (this.#countsOfMore.get(text) ?? 1) + 1)
    else this.#texts.add(text)
  }

  remove(text: string): void {
    const count = this.#countsOfMore.get(text)
    if (count === undefined) this.#texts.delete(text)
    else if (count === 2) this.#countsOfMore.delete(text)
    else this.#countsOfMore.set(text, count - 1)
  }
}
