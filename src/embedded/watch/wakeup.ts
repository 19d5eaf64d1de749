/** Lets one waiter sleep until it is woken. A call while nobody waits is not lost: the next wait returns at once. */
export class Wakeup {
  #isWoken = false
  #waiter: (() => void) | undefined

  wake(): void {
    this.#isWoken = true
    this.#waiter?.()
  }

  async wait(): Promise<void> {
    if (!this.#isWoken) await new Promise<void>((resolve) => (this.#waiter = resolve))
    this.#waiter = undefined
    this.#isWoken = false
  }
}
