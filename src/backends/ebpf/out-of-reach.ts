/** Sockets in network namespaces that this process cannot enter. Once may be chance: the namespace was about to go. */
export class OutOfReach {
  #before: ReadonlySet<bigint> = new Set()
  #now = new Set<bigint>()

  /** Those that were out of reach in the look before, too. */
  note<S extends { readonly cookie: bigint }>(sockets: readonly S[]): readonly S[] {
    for (const { cookie } of sockets) this.#now.add(cookie)
    return sockets.filter(({ cookie }) => this.#before.has(cookie))
  }

  /** A look that breaks off has not seen all, so what is known from before counts for the next one. */
  endLook(): void {
    this.#before = this.#now
    this.#now = new Set()
  }
}
