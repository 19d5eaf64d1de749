/** SIGHUP: the terminal is gone, or, for whoever listens, somebody wants the configuration to be read again. */
export class Hangups {
  readonly #listeners = new Set<() => void>()

  listen(listener: () => void): Disposable {
    this.#listeners.add(listener)
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) }
  }

  /** Whether anybody has listened. */
  deliver(): boolean {
    for (const listener of this.#listeners) listener()
    return this.#listeners.size > 0
  }
}
