/**
 * The interface to the links of this machine and their addresses. Each implementation passes `links.contract.ts` or
 * `addresses.contract.ts`.
 */

export interface LinkAddress {
  readonly link: string
  /** Canonical text. */
  readonly ip: string
  readonly prefixLength: number
}

export interface FoundLink {
  /** Such as `dummy` or `veth`; `unknown` for real hardware. */
  readonly kind: string
  /** Canonical text. */
  readonly ips: readonly string[]
}

/** The part that the `ip` command can do too. Every method rejects with an AddressError when the kernel cannot be asked. */
export interface Links {
  find(link: string, signal: AbortSignal): Promise<FoundLink | undefined>
  /** Removes a dummy link with its addresses, if it exists. A link of another kind is refused with `not-dummy`. */
  removeDummy(link: string, signal: AbortSignal): Promise<void>
}

export interface Addresses extends Links {
  /** Includes links that are down, which Node's `networkInterfaces` leaves out. Not sorted. */
  list(signal: AbortSignal): Promise<readonly LinkAddress[]>
  /** Makes a dummy link, which stays down. Any link that already has this name will do, whatever its kind. */
  ensureDummy(link: string, signal: AbortSignal): Promise<void>
  /**
   * Gives the link these addresses, each as /32 or /128. It is no error if the link already has one. Errors are returned
   * by address.
   */
  add(link: string, ips: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, AddressError>>
  /** It is no error if the link does not have one. Errors are returned by address. */
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
