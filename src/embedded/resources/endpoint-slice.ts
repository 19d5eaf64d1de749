import type { ResourceType } from '../resource.ts'
import { renderAge } from './age.ts'
import { ageColumn, column, nameColumn } from './columns.ts'
import type { Completed } from './define-resource.ts'
import { defineResource } from './define-resource.ts'
import type { EndpointSlice, SliceEndpoint, SlicePort } from './endpoint-slice-validate.ts'
import { validateEndpointSlice } from './endpoint-slice-validate.ts'
import { wrongDns1123Subdomain } from './names.ts'
import { endpointSliceSchema } from './schemas/endpoint-slice.ts'

/** kubectl shows this many, then "+ n more...". */
const shown = 3

export const endpointSlices: ResourceType = defineResource<EndpointSlice>({
  schema: endpointSliceSchema,
  plural: 'endpointslices',
  singular: 'endpointslice',
  shortNames: [],
  categories: [],
  isNamespaced: true,
  hasStatus: false,
  wrongName: wrongDns1123Subdomain,
  columns: [
    nameColumn,
    column('AddressType', 'Type of the addresses.'),
    column('Ports', 'Ports of the endpoints.'),
    column('Endpoints', 'First address of each endpoint.'),
    ageColumn,
  ],
  cells: ({ metadata, addressType, ports, endpoints }, nowMs) => [
    metadata.name,
    addressType ?? '',
    renderPorts(ports ?? []),
    renderAddresses((endpoints ?? []).flatMap(({ addresses = [] }) => addresses)),
    renderAge(metadata.creationTimestamp, nowMs),
  ],
  complete,
  validate: validateEndpointSlice,
})

function complete(slice: EndpointSlice, old: EndpointSlice | undefined): Completed<EndpointSlice> {
  const object = {
    ...slice,
    metadata: old === undefined ? { ...slice.metadata, generation: 1 } : slice.metadata,
    // A real server writes these even if they are empty.
    endpoints: slice.endpoints?.length ? slice.endpoints.map(withConditions) : null,
    ports: slice.ports ?? null,
  }
  return { object, errors: [] }
}

/** The topology of the v1beta1 API is read-only. */
function withConditions({ deprecatedTopology: _deprecatedTopology, ...endpoint }: SliceEndpoint): SliceEndpoint {
  return { ...endpoint, conditions: endpoint.conditions ?? {} }
}

function renderPorts(ports: readonly SlicePort[]): string {
  if (ports.length === 0) return '<unset>'
  return shorten(ports.map(({ port }) => (port === undefined ? '*' : String(port))))
}

function renderAddresses(addresses: readonly string[]): string {
  return addresses.length === 0 ? '<unset>' : shorten(addresses)
}

function shorten(texts: readonly string[]): string {
  const rest = texts.length - shown
  return texts.slice(0, shown).join(',') + (rest > 0 ? ` + ${rest} more...` : '')
}
