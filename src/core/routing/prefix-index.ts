/** Ranges of addresses, and which of them has an address: asked once for each length that occurs, not for each range. */
import { networkOf, renderCidr } from '../../net/ip.ts'
import type { Cidr, Family } from '../../net/ip.ts'

export class PrefixIndex {
  readonly #family: Family
  /** How often each network was added. */
  readonly #networksByLength = new Map<number, Map<string, number>>()

  constructor(family: Family) {
    this.#family = family
  }

  /** Ranges of the other family are nobody's concern here. */
  add({ family, network, prefixLength }: Cidr): void {
    if (family !== this.#family) return
    const networks = this.#networksByLength.get(prefixLength) ?? new Map<string, number>()
    this.#networksByLength.set(prefixLength, networks.set(network, (networks.get(network) ?? 0) + 1))
  }

  delete({ network, prefixLength }: Cidr): void {
    const networks = this.#networksByLength.get(prefixLength)
    const left = (networks?.get(network) ?? 0) - 1
    if (left > 0) networks?.set(network, left)
    else networks?.delete(network)
    if (networks?.size === 0) this.#networksByLength.delete(prefixLength)
  }

  /** The widest range that has the address, which must be of the family. */
  find(ip: string): string | undefined {
    let widest: number | undefined
    for (const [prefixLength, networks] of this.#networksByLength)
      if ((widest === undefined || prefixLength < widest) && networks.has(networkOf(ip, prefixLength)))
        widest = prefixLength
    if (widest === undefined) return undefined
    return renderCidr({ family: this.#family, network: networkOf(ip, widest), prefixLength: widest })
  }
}
