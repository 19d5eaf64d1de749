/** Links that exist only in memory. */
import { familyOf } from '../../net/ip.ts'
import { AddressError, noSuchLink } from './addresses.ts'
import type { Addresses, LinkAddress } from './addresses.ts'

interface Link {
  readonly isDummy: boolean
  /** Prefix lengths by address. */
  readonly lengthsByIp: Map<string, number>
}

export class MemoryAddresses implements Addresses {
  readonly #linksByName = new Map<string, Link>()

  /** A link that is not ours, such as the one to the network. */
  addLink(name: string, ...addresses: readonly Omit<LinkAddress, 'link'>[]): void {
    const lengthsByIp = new Map(addresses.map(({ ip, prefixLength }) => [ip, prefixLength]))
    this.#linksByName.set(name, { isDummy: false, lengthsByIp })
  }

  async list(signal: AbortSignal): Promise<readonly LinkAddress[]> {
    signal.throwIfAborted()
    return Array.from(this.#linksByName, ([link, { lengthsByIp }]) =>
      Array.from(lengthsByIp, ([ip, prefixLength]) => ({ link, ip, prefixLength })),
    ).flat()
  }

  async ensureDummy(link: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (!this.#linksByName.has(link)) this.#linksByName.set(link, { isDummy: true, lengthsByIp: new Map() })
  }

  async removeDummy(link: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.#linksByName.get(link)?.isDummy === false)
      throw new AddressError('not-dummy', `cannot remove the link ${link}: it is not a dummy link`)
    this.#linksByName.delete(link)
  }

  async add(link: string, ips: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, AddressError>> {
    return this.#change(link, ips, signal, (lengthsByIp, ip) => lengthsByIp.set(ip, familyOf(ip) === 'ipv4' ? 32 : 128))
  }

  async remove(link: string, ips: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, AddressError>> {
    return this.#change(link, ips, signal, (lengthsByIp, ip) => lengthsByIp.delete(ip))
  }

  #change(
    link: string,
    ips: readonly string[],
    signal: AbortSignal,
    change: (lengthsByIp: Map<string, number>, ip: string) => void,
  ): ReadonlyMap<string, AddressError> {
    signal.throwIfAborted()
    const found = this.#linksByName.get(link)
    if (found === undefined) throw noSuchLink(link)
    for (const ip of ips) change(found.lengthsByIp, ip)
    return new Map()
  }
}
