/** Counters that exist only in memory. */
import { NfacctError, assertNfacctName } from './nfacct.ts'
import type { Nfacct, NfacctCounter } from './nfacct.ts'

export class MemoryNfacct implements Nfacct {
  readonly #countersByName = new Map<string, NfacctCounter>()
  readonly #usedNames = new Set<string>()
  /** Makes every call fail, as on a kernel without such counters. */
  refuseWith: NfacctError['reason'] | undefined

  /** Acts as a rule that names the counter does for a packet. */
  count(name: string, bytes: number): void {
    const { packets, bytes: before } = this.#countersByName.get(name) ?? { packets: 0, bytes: 0 }
    this.#countersByName.set(name, { packets: packets + 1, bytes: before + bytes })
  }

  async read(name: string, signal: AbortSignal): Promise<NfacctCounter | undefined> {
    this.#check('read', name, signal)
    return this.#countersByName.get(name)
  }

  async ensure(name: string, signal: AbortSignal): Promise<void> {
    this.#check('make', name, signal)
    if (!this.#countersByName.has(name)) this.#countersByName.set(name, { packets: 0, bytes: 0 })
  }

  /** Acts as if a rule named the counter. */
  use(name: string): void {
    this.#usedNames.add(name)
  }

  async remove(name: string, signal: AbortSignal): Promise<void> {
    this.#check('remove', name, signal)
    if (this.#usedNames.has(name))
      throw new NfacctError('in-use', `cannot remove the counter "${name}": the object is in use`)
    this.#countersByName.delete(name)
  }

  #check(doing: string, name: string, signal: AbortSignal): void {
    signal.throwIfAborted()
    assertNfacctName(name)
    if (this.refuseWith !== undefined)
      throw new NfacctError(this.refuseWith, `cannot ${doing} the counter "${name}": ${this.refuseWith}`)
  }
}
