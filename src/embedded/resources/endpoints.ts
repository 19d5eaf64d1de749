import { hostPort } from '../../net/ip.ts'
import type { ApiObject, FieldError, ResourceType } from '../resource.ts'
import { endpointIpErrors } from './address-errors.ts'
import { renderAge } from './age.ts'
import { ageColumn, column, nameColumn } from './columns.ts'
import { defineResource } from './define-resource.ts'
import { invalid, required } from './field-errors.ts'
import { wrongDns1123Label, wrongDns1123Subdomain } from './names.ts'
import { portNumberErrors, protocolErrors } from './port-errors.ts'
import { endpointsSchema } from './schemas/endpoints.ts'

interface Endpoints extends ApiObject {
  readonly subsets?: readonly Subset[]
}

interface Subset {
  readonly addresses?: readonly Address[]
  readonly notReadyAddresses?: readonly Address[]
  readonly ports?: readonly Port[]
}

interface Address {
  readonly ip?: string
  readonly hostname?: string
}

interface Port {
  readonly name?: string
  readonly port?: number
  readonly protocol?: string
}

/** kubectl shows this many, then "+ n more...". */
const shown = 3

export const endpoints: ResourceType = defineResource<Endpoints>({
  schema: endpointsSchema,
  plural: 'endpoints',
  singular: 'endpoints',
  shortNames: ['ep'],
  categories: [],
  isNamespaced: true,
  hasStatus: false,
  wrongName: wrongDns1123Subdomain,
  columns: [nameColumn, column('Endpoints', 'Addresses with their ports.'), ageColumn],
  cells: (object, nowMs) => [
    object.metadata.name,
    renderEndpoints(object.subsets ?? []),
    renderAge(object.metadata.creationTimestamp, nowMs),
  ],
  validate: ({ subsets = [] }) => subsets.flatMap((subset, index) => subsetErrors(subset, `subsets[${index}]`)),
})

function renderEndpoints(subsets: readonly Subset[]): string {
  const texts = subsets.flatMap(({ addresses = [], ports = [] }) =>
    ports.length === 0
      ? addresses.map(({ ip = '' }) => ip)
      : ports.flatMap(({ port = 0 }) => addresses.map(({ ip = '' }) => hostPort(ip, port))),
  )
  const rest = texts.length - shown
  if (texts.length === 0) return '<none>'
  return texts.slice(0, shown).join(',') + (rest > 0 ? ` + ${rest} more...` : '')
}

function subsetErrors({ addresses = [], notReadyAddresses = [], ports = [] }: Subset, path: string): FieldError[] {
  if (addresses.length === 0 && notReadyAddresses.length === 0)
    return [required(path, 'must specify `addresses` or `notReadyAddresses`')]
  return [
    ...addresses.flatMap((address, index) => addressErrors(address, `${path}.addresses[${index}]`)),
    ...notReadyAddresses.flatMap((address, index) => addressErrors(address, `${path}.notReadyAddresses[${index}]`)),
    ...ports.flatMap((port, index) => portErrors(port, `${path}.ports[${index}]`, ports.length > 1)),
  ]
}

function addressErrors({ ip = '', hostname }: Address, path: string): FieldError[] {
  const wrong = hostname === undefined ? undefined : wrongDns1123Label(hostname)
  return [
    ...endpointIpErrors(`${path}.ip`, ip),
    ...(wrong === undefined ? [] : [invalid(`${path}.hostname`, hostname, wrong)]),
  ]
}

function portErrors({ name = '', port = 0, protocol }: Port, path: string, isNameRequired: boolean): FieldError[] {
  const wrong = name === '' ? undefined : wrongDns1123Label(name)
  return [
    ...(name === '' && isNameRequired ? [required(`${path}.name`)] : []),
    ...(wrong === undefined ? [] : [invalid(`${path}.name`, name, wrong)]),
    ...portNumberErrors(`${path}.port`, port),
    ...protocolErrors(`${path}.protocol`, protocol),
  ]
}
