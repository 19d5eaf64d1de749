/** Checks of addresses in API objects, in the words of Kubernetes. */
import { cidrContains, isLoopback, isUnspecified, parseCidr, parseIp, renderCidr } from '../../net/ip.ts'
import type { FieldError } from '../resource.ts'
import { invalid } from './field-errors.ts'

const linkLocal = [parseCidr('169.254.0.0/16'), parseCidr('fe80::/10')]
const linkLocalMulticast = [parseCidr('224.0.0.0/24'), parseCidr('ff02::/16')]

export function ipErrors(field: string, text: string): FieldError[] {
  if (parseIp(text) === undefined)
    return [invalid(field, text, 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)')]
  return ambiguityErrors(field, text, text)
}

export function cidrErrors(field: string, text: string): FieldError[] {
  const cidr = parseCidr(text)
  const [address = ''] = text.split('/')
  if (cidr === undefined)
    return [invalid(field, text, 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)')]
  const ambiguities = ambiguityErrors(field, text, address)
  if (ambiguities.length > 0 || parseIp(address) === cidr.network) return ambiguities
  return [invalid(field, text, `must not have bits set beyond the prefix length, use "${renderCidr(cidr)}"`)]
}

/**
 * Some programs read 010.0.0.1 as octal and ::ffff:10.0.0.1 as IPv6. New objects must mean the same to every reader.
 */
function ambiguityErrors(field: string, text: string, address: string): FieldError[] {
  const isIPv6 = address.includes(':')
  const octets = isIPv6 ? [] : address.split('.')
  if (octets.some((octet) => /^0\d/.test(octet))) return [invalid(field, text, 'must not have leading 0s')]
  if (isIPv6 && parseIp(address)?.includes(':') === false)
    return [invalid(field, text, 'must not be an IPv4-mapped IPv6 address')]
  return []
}

/** An address at which a Service may receive traffic: not one that has a special meaning. */
export function ordinaryIpErrors(field: string, text: string): FieldError[] {
  const ip = parseIp(text)
  if (ip !== undefined && isLoopback(ip))
    return [invalid(field, text, 'may not be in the loopback range (127.0.0.0/8, ::1/128)')]
  return endpointIpErrors(field, text)
}

/**
 * An address to which a Service may send traffic. A real API server also refuses loopback. The embedded one is for a
 * single machine, on which its users' backends run.
 */
export function endpointIpErrors(field: string, text: string): FieldError[] {
  const ip = parseIp(text)
  const errors = ipErrors(field, text)
  if (ip === undefined || errors.length > 0) return errors
  if (isUnspecified(ip)) return [invalid(field, text, 'may not be unspecified (0.0.0.0 or ::)')]
  if (linkLocal.some((range) => range !== undefined && cidrContains(range, ip)))
    return [invalid(field, text, 'may not be in the link-local range (169.254.0.0/16, fe80::/10)')]
  if (linkLocalMulticast.some((range) => range !== undefined && cidrContains(range, ip)))
    return [invalid(field, text, 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)')]
  return []
}
