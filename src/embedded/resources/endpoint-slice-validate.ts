/** Which EndpointSlices are refused, with Kubernetes' messages. */
import { familyOf, parseIp } from '../../net/ip.ts'
import type { ApiObject, FieldError } from '../resource.ts'
import { endpointIpErrors } from './address-errors.ts'
import { duplicate, invalid, notSupported, required, tooMany } from './field-errors.ts'
import { wrongDns1123Label, wrongDns1123Subdomain, wrongLabelValue, wrongQualifiedName } from './names.ts'
import { protocolErrors } from './port-errors.ts'

export interface EndpointSlice extends ApiObject {
  readonly addressType?: string
  readonly endpoints?: readonly SliceEndpoint[] | null
  readonly ports?: readonly SlicePort[] | null
}

export interface SliceEndpoint {
  readonly addresses?: readonly string[]
  readonly conditions?: unknown
  readonly deprecatedTopology?: unknown
  readonly hostname?: string
  readonly nodeName?: string
  readonly zone?: string
  readonly hints?: { readonly forZones?: readonly Named[]; readonly forNodes?: readonly Named[] }
}

export interface SlicePort {
  readonly name: string
  readonly protocol: string
  readonly port?: number
  readonly appProtocol?: string
}

interface Named {
  readonly name?: string
}

const addressTypes = ['FQDN', 'IPv4', 'IPv6']
const limits = { endpoints: 1000, addresses: 100, ports: 20_000, hints: 8 } as const

export function validateEndpointSlice(slice: EndpointSlice, old: EndpointSlice | undefined): FieldError[] {
  const { addressType = '' } = slice
  const endpoints = slice.endpoints ?? []
  const ports = slice.ports ?? []
  const errors: FieldError[] = []
  if (addressType === '') errors.push(required('addressType'))
  else if (!addressTypes.includes(addressType)) errors.push(notSupported('addressType', addressType, addressTypes))
  if (old !== undefined && old.addressType !== addressType)
    errors.push(invalid('addressType', addressType, 'field is immutable'))
  if (endpoints.length > limits.endpoints) return [...errors, tooMany('endpoints', endpoints.length, limits.endpoints)]
  if (ports.length > limits.ports) return [...errors, tooMany('ports', ports.length, limits.ports)]
  return [
    ...errors,
    ...endpoints.flatMap((endpoint, index) => endpointErrors(endpoint, addressType, `endpoints[${index}]`)),
    ...portErrors(ports),
  ]
}

function endpointErrors(endpoint: SliceEndpoint, addressType: string, path: string): FieldError[] {
  const { addresses = [], hostname, nodeName, hints } = endpoint
  const errors: FieldError[] = []
  if (addresses.length === 0) errors.push(required(`${path}.addresses`, 'must contain at least 1 address'))
  if (addresses.length > limits.addresses) errors.push(tooMany(`${path}.addresses`, addresses.length, limits.addresses))
  for (const [index, address] of addresses.entries()) {
    const field = `${path}.addresses[${index}]`
    if (addresses.indexOf(address) < index) errors.push(duplicate(field, address))
    errors.push(...addressErrors(address, addressType, field, `${path}.addresses`))
  }
  if (hostname !== undefined) errors.push(...wrong(`${path}.hostname`, hostname, wrongDns1123Label))
  if (nodeName !== undefined) errors.push(...wrong(`${path}.nodeName`, nodeName, wrongDns1123Subdomain))
  errors.push(
    ...hintErrors(hints?.forZones ?? [], `${path}.hints.forZones`, wrongLabelValue),
    ...hintErrors(hints?.forNodes ?? [], `${path}.hints.forNodes`, wrongDns1123Subdomain),
  )
  return errors
}

function addressErrors(address: string, addressType: string, field: string, listField: string): FieldError[] {
  if (addressType === 'FQDN') return wrong(field, address, wrongFqdn)
  if (addressType !== 'IPv4' && addressType !== 'IPv6') return []
  const errors = endpointIpErrors(field, address)
  if (errors.length > 0) return errors
  const isIPv4 = familyOf(parseIp(address) ?? address) === 'ipv4'
  return isIPv4 === (addressType === 'IPv4') ? [] : [invalid(listField, address, `must be an ${addressType} address`)]
}

function wrongFqdn(name: string): string | undefined {
  const wrongDomain = wrongDns1123Subdomain(name.replace(/\.$/, ''))
  if (wrongDomain !== undefined) return wrongDomain
  return name.replace(/\.$/, '').includes('.')
    ? undefined
    : 'should be a domain with at least two segments separated by dots'
}

function hintErrors(hints: readonly Named[], path: string, rule: (text: string) => string | undefined): FieldError[] {
  if (hints.length > limits.hints) return [tooMany(path, hints.length, limits.hints)]
  const names = hints.map(({ name = '' }) => name)
  return names.flatMap((name, index) => {
    const field = `${path}[${index}].name`
    if (names.indexOf(name) < index) return [duplicate(field, name)]
    return wrong(field, name, rule)
  })
}

/** As on a real server, any port number is accepted: whoever reads the slice must check it. */
function portErrors(ports: readonly SlicePort[]): FieldError[] {
  const names = new Set<string>()
  return ports.flatMap(({ name, protocol, appProtocol }, index) => {
    const path = `ports[${index}]`
    const errors: FieldError[] = []
    if (name !== '') errors.push(...wrong(`${path}.name`, name, wrongDns1123Label))
    if (names.has(name)) errors.push(duplicate(`${path}.name`, name))
    names.add(name)
    errors.push(...protocolErrors(`${path}.protocol`, protocol))
    if (appProtocol !== undefined) errors.push(...wrong(`${path}.appProtocol`, appProtocol, wrongQualifiedName))
    return errors
  })
}

function wrong(field: string, value: string, rule: (text: string) => string | undefined): FieldError[] {
  const detail = rule(value)
  return detail === undefined ? [] : [invalid(field, value, detail)]
}
