/** Keeps one copy of texts that many objects repeat. Of more than so many it keeps none: then they are not the same few. */
export class SharedTexts {
  readonly #texts = new Map<string, string>()
  readonly #most: number

  constructor(most: number) {
    this.#most = most
  }

  get(text: string): string {
    const known = this.#texts.get(text)
    if (known === undefined && this.#texts.size < this.#most) this.#texts.set(text, text)
    return known ?? text
  }
}

/** A cluster has a few zones, and each of its endpoints names one. */
export const sharedZones = new SharedTexts(256)
