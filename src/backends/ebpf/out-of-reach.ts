/** Sockets in network namespaces that this process cannot enter. Once may be chance: the namespace was about to go. */
export class OutOfReach {
  #before: ReadonlySet<bigint> = new Set()
  #now = new Set<bigint>()

  /** True: one of them was out of reach in the look before, too. */
  note(cookies: readonly bigint[]): boolean {
    for (const cookie of cookies) this.#now.add(cookie)
    return cookies.some((cookie) => this.#before.has(cookie))
  }

  /** A look that breaks off has not seen all, so what is known from before counts for the next one. */
  endLook(): void {
    this.#before = this.#now
    this.#now = new Set()
  }
}
