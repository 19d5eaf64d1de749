/** The one door to the links of this machine and their addresses. Each implementation passes a contract. */

export interface LinkAddress {
  readonly link: string
  /** Canonical text. */
  readonly ip: string
  readonly prefixLength: number
}

export interface FoundLink {
  /** Such as `dummy` or `veth`; `unknown` for real hardware. */
  readonly kind: string
  /** In canonical text. */
  readonly ips: readonly string[]
}

/** What is enough to take a link away. Every method rejects with an AddressError when the kernel cannot be asked. */
export interface Links {
  /** Undefined when there is none of this name. */
  find(link: string, signal: AbortSignal): Promise<FoundLink | undefined>
  /** Removes a dummy link with its addresses. One that is not there is fine; a link of another kind is `not-dummy`. */
  removeDummy(link: string, signal: AbortSignal): Promise<void>
}

export interface Addresses extends Links {
  /** The addresses of all links, also of those that are down, which Node's own list leaves out. Not sorted. */
  list(signal: AbortSignal): Promise<readonly LinkAddress[]>
  /** Makes a dummy link, which stays down. A link that has this name is fine, whatever it is. */
  ensureDummy(link: string, signal: AbortSignal): Promise<void>
  /**
   * Gives the link these addresses, each alone in its network (/32 or /128). One that the link has is fine. The errors
   * are returned by address.
   */
  add(link: string, ips: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, AddressError>>
  /** Takes such addresses away. One that the link does not have is fine. The errors are returned by address. */
  remove(link: string, ips: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, AddressError>>
}

export class AddressError extends Error {
  override readonly name = 'AddressError'
  readonly reason: 'not-permitted' | 'no-such-link' | 'not-dummy' | 'unsupported' | 'refused'

  constructor(reason: AddressError['reason'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
  }
}

export function noSuchLink(link: string): AddressError {
  return new AddressError('no-such-link', `cannot change the addresses of ${link}: there is no such link`)
}

export function notDummy(link: string, kind: string): AddressError {
  const what = kind === 'unknown' ? 'a device' : `a ${kind}`
  return new AddressError('not-dummy', `cannot remove the link ${link}: it is ${what}, not a dummy link`)
}
