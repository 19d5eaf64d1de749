/** Links that exist only in memory. */
import { familyOf } from '../../net/ip.ts'
import { noSuchLink, notDummy } from './addresses.ts'
import type { AddressError, Addresses, FoundLink, LinkAddress } from './addresses.ts'

interface Link {
  readonly kind: string
  readonly lengthsByIp: Map<string, number>
}

export class MemoryAddresses implements Addresses {
  readonly #linksByName = new Map<string, Link>()

  /** A link that Fairlead did not make, such as the one to the network. */
  addLink(name: string, ...addresses: readonly Omit<LinkAddress, 'link'>[]): void {
    const lengthsByIp = new Map(addresses.map(({ ip, prefixLength }) => [ip, prefixLength]))
    this.#linksByName.set(name, { kind: 'veth', lengthsByIp })
  }

  async list(signal: AbortSignal): Promise<readonly LinkAddress[]> {
    signal.throwIfAborted()
    return Array.from(this.#linksByName, ([link, { lengthsByIp }]) =>
      Array.from(lengthsByIp, ([ip, prefixLength]) => ({ link, ip, prefixLength })),
    ).flat()
  }

  async find(link: string, signal: AbortSignal): Promise<FoundLink | undefined> {
    signal.throwIfAborted()
    const found = this.#linksByName.get(link)
    return found && { kind: found.kind, ips: [...found.lengthsByIp.keys()] }
  }

  async ensureDummy(link: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (!this.#linksByName.has(link)) this.#linksByName.set(link, { kind: 'dummy', lengthsByIp: new Map() })
  }

  async removeDummy(link: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const { kind = 'dummy' } = this.#linksByName.get(link) ?? {}
    if (kind !== 'dummy') throw notDummy(link, kind)
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
