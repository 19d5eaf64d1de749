/**
 * What a field of a record may contain. Records come from files and from servers that may be malicious, and their
 * content ends up in rules, configuration files and terminals. The rules are those for objects of the API.
 */
import { isObjectName } from '../../api/object-name.ts'
import { isPortName } from '../../api/port-range.ts'
import { familyOf, parseCidr, parseIp } from '../../net/ip.ts'
import type { Family } from '../../net/ip.ts'

/** Returns what the text must be, if it is not. */
export type TextRule = (text: string) => string | undefined

export interface NumberRange {
  readonly min: number
  readonly max: number
}

/** Line ends and the like, in ASCII and in Unicode. */
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const controls = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/

export const anyText: TextRule = () => undefined

export const plainText: TextRule = rule('a text without control characters', (text) => !controls.test(text))

export const objectName: TextRule = rule('a name of letters, digits, "-" and "."', isObjectName)

export const objectNameOrNone: TextRule = orNone(objectName)

export const portName: TextRule = rule('the name of a port', isPortName)

export const serviceType: TextRule = orNone(
  rule('ClusterIP, NodePort, LoadBalancer or ExternalName', (text) =>
    ['ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName'].includes(text),
  ),
)

export const ipv4: TextRule = rule('an IPv4 address', isAddressOf('ipv4'))

export const ipv6: TextRule = rule('an IPv6 address', isAddressOf('ipv6'))

/** The API accepts blanks around it. */
export const cidr: TextRule = rule(
  'a CIDR such as 10.0.0.0/8',
  (text) => !controls.test(text) && parseCidr(text.trim()) !== undefined,
)

/** The last part of an endpoint's path. */
export const endpointKey: TextRule = rule('a key of visible characters', (text) => /^[!-.0-~]{1,600}$/.test(text))

export const anyNumber: NumberRange = { min: -(2 ** 31), max: 2 ** 31 - 1 }
export const portNumber: NumberRange = { min: 1, max: 65_535 }
export const portNumberOrNone: NumberRange = { min: 0, max: 65_535 }

function rule(wanted: string, isFulfilled: (text: string) => boolean): TextRule {
  return (text) => (isFulfilled(text) ? undefined : wanted)
}

function orNone(other: TextRule): TextRule {
  return (text) => (text === '' ? undefined : other(text))
}

function isAddressOf(family: Family) {
  return (text: string): boolean => {
    const ip = parseIp(text)
    return ip !== undefined && familyOf(ip) === family
  }
}
