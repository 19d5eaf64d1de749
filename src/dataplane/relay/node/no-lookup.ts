import { familyOf } from '../../../net/ip.ts'

/** Relay addresses are IP addresses: asking the resolver would only delay each datagram. */
export function noLookup(
  ip: string,
  _options: unknown,
  callback: (error: null, address: string, family: number) => void,
): void {
  callback(null, ip, familyOf(ip) === 'ipv6' ? 6 : 4)
}
