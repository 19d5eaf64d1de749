/** Checks of addresses in API objects, in the words of Kubernetes. */
import { cidrContains, isLoopback, isUnspecified, parseCidr, parseIp } from '../../net/ip.ts'
import type { FieldError } from '../resource.ts'
import { invalid } from './field-errors.ts'

const linkLocal = [parseCidr('169.254.0.0/16'), parseCidr('fe80::/10')]
const linkLocalMulticast = [parseCidr('224.0.0.0/24'), parseCidr('ff02::/16')]

export function ipErrors(field: string, text: string): FieldError[] {
  if (parseIp(text) !== undefined) return []
  return [invalid(field, text, 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)')]
}

export function cidrErrors(field: string, text: string): FieldError[] {
  if (parseCidr(text.trim()) !== undefined) return []
  return [invalid(field, text, 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)')]
}

/** An address at which a Service may receive traffic: not one that means something else to each host. */
export function ordinaryIpErrors(field: string, text: string): FieldError[] {
  const ip = parseIp(text)
  if (ip !== undefined && isLoopback(ip))
    return [invalid(field, text, 'may not be in the loopback range (127.0.0.0/8, ::1/128)')]
  return endpointIpErrors(field, text)
}

/**
 * An address to which a Service may send traffic. A real API server refuses loopback here too; the embedded one is for
 * a single machine, and the backends of its users run on it.
 */
export function endpointIpErrors(field: string, text: string): FieldError[] {
  const ip = parseIp(text)
  if (ip === undefined) return ipErrors(field, text)
  if (isUnspecified(ip)) return [invalid(field, text, 'may not be unspecified (0.0.0.0 or ::)')]
  if (linkLocal.some((range) => range !== undefined && cidrContains(range, ip)))
    return [invalid(field, text, 'may not be in the link-local range (169.254.0.0/16, fe80::/10)')]
  if (linkLocalMulticast.some((range) => range !== undefined && cidrContains(range, ip)))
    return [invalid(field, text, 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)')]
  return []
}
