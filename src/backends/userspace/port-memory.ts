/** Which port a listener had, so that a route that comes back is found where it was. */

/** More than a node has routes; forgetting one only means another port. */
const maxRemembered = 50_000

export class PortMemory {
  readonly #portsById = new Map<string, number>()

  /** The ports to try, the one it had before first. */
  candidates(id: string, ports: readonly number[]): readonly number[] {
    const last = this.#portsById.get(id)
    return last === undefined ? ports : [last, ...ports.filter((port) => port !== last)]
  }

  remember(id: string, port: number): void {
    this.#portsById.delete(id)
    this.#portsById.set(id, port)
    for (const oldest of this.#portsById.keys()) {
      if (this.#portsById.size <= maxRemembered) return
      this.#portsById.delete(oldest)
    }
  }
}
