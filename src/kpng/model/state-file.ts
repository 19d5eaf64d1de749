/** The global model as a file that people can read and write: KPNG's own format. */
import { parseDocument, stringify } from 'yaml'
import { KpngError } from '../kpng-error.ts'
import type { EndpointInfo, Node } from '../proto/generated/globalv1/api.ts'
import type { Endpoint, Service } from '../proto/generated/localv1/api.ts'
import type { GlobalStore } from '../store/global-store.ts'
import { compareBytes } from '../wire/byte-order.ts'
import { clusterEndpoint, clusterNode, clusterService } from './cluster-model.ts'
import type { ClusterEndpoint, ClusterNode, ClusterService } from './cluster-model.ts'
import { stateShape } from './state-shape.ts'
import type { Shape } from './state-shape.ts'

export interface FileState {
  readonly nodes: readonly ClusterNode[]
  readonly services: readonly { readonly service: ClusterService; readonly endpoints: readonly ClusterEndpoint[] }[]
}

/** Throws a KpngError that names the place of what is wrong. */
export function parseStateFile(content: string, file: string): FileState {
  const document = parseDocument(content)
  const [problem] = document.errors
  if (problem !== undefined) throw new KpngError('bad-file', `${file}: ${problem.message}`)
  const state = readValue(document.toJS() ?? {}, stateShape, file) as ReadState
  return {
    nodes: (state.Nodes ?? []).map((node) => clusterNode({ ...bareNode, ...node })),
    services: (state.Services ?? []).map(({ Service: read, Endpoints = [] }) => {
      const service: Service = {
        ...bareService,
        ...read,
        Namespace: read?.Namespace || bareService.Namespace,
        Type: read?.Type || bareService.Type,
        SessionAffinity: affinityOf(read),
      }
      return {
        service: clusterService(service),
        endpoints: Endpoints.map((endpoint) => readEndpoint(endpoint, service)),
      }
    }),
  }
}

export function renderStateFile(store: GlobalStore): string {
  const byPath = [...store.services.keys()].sort(compareBytes)
  const names = [...store.nodes.keys()].sort(compareBytes)
  const state = {
    Nodes: names.flatMap((name) => store.nodes.latest(name)?.node ?? []),
    Services: byPath.flatMap((path) => {
      const { service, endpoints = [] } = store.services.latest(path) ?? {}
      if (service === undefined) return []
      const { SessionAffinity: affinity, ...rest } = service.service
      const written = { ...rest, SessionAffinity: affinity && { ClientIP: affinity.value } }
      return [{ Service: written, Endpoints: endpoints.map(({ info }) => info) }]
    }),
  }
  return stringify(renderValue(state, stateShape))
}

interface ReadService extends Partial<Omit<Service, 'SessionAffinity'>> {
  readonly SessionAffinity?: { readonly ClientIP?: { readonly TimeoutSeconds?: number } }
}

interface ReadState {
  readonly Nodes?: readonly Partial<Node>[]
  readonly Services?: readonly {
    readonly Service?: ReadService
    readonly Endpoints?: readonly (Partial<Omit<EndpointInfo, 'Endpoint'>> & {
      readonly Endpoint?: Partial<Endpoint>
    })[]
  }[]
}

const bareNode: Node = { Name: '', Labels: {}, Annotations: {} }

const bareService: Service = {
  Namespace: 'default',
  Name: '',
  Type: 'ClusterIP',
  MapIP: false,
  Ports: [],
  ExternalTrafficToLocal: false,
  InternalTrafficToLocal: false,
  Labels: {},
  Annotations: {},
  IPFilters: [],
  HealthCheckNodePort: 0,
}

function affinityOf(service: ReadService | undefined): Service['SessionAffinity'] {
  const { ClientIP } = service?.SessionAffinity ?? {}
  return ClientIP && { $case: 'ClientIP', value: { TimeoutSeconds: ClientIP.TimeoutSeconds ?? 10_800 } }
}

type ReadEndpoint = NonNullable<NonNullable<NonNullable<ReadState['Services']>[number]['Endpoints']>[number]>

function readEndpoint(read: ReadEndpoint, service: Service): ClusterEndpoint {
  const endpoint = { Hostname: '', Local: false, PortOverrides: [], IPs: { V4: [], V6: [] }, ...read.Endpoint }
  const { Conditions, Hints, Topology = { Node: '', Zone: '' } } = read
  return clusterEndpoint(
    {
      Namespace: service.Namespace,
      SourceName: `file-${service.Name}`,
      ServiceName: service.Name,
      PodName: read.PodName ?? '',
      Endpoint: endpoint,
      Topology,
      ...(Conditions !== undefined && { Conditions }),
      ...(Hints !== undefined && { Hints }),
    },
    { serving: Conditions?.Ready ?? true, terminating: false, nodeHints: [] },
  )
}

function readValue(value: unknown, shape: Shape, place: string): unknown {
  if (value === null || value === undefined) return emptyOf(shape)
  const wrong = (wanted: string) =>
    new KpngError('bad-file', `${place} must be ${wanted}, not ${JSON.stringify(value)}`)
  switch (shape.kind) {
    case 'ignored':
      return undefined
    case 'text':
      if (typeof value !== 'string' && typeof value !== 'number') throw wrong('a text')
      return String(value)
    case 'number':
      if (!Number.isInteger(value)) throw wrong('a whole number')
      return value
    case 'flag':
      if (typeof value !== 'boolean') throw wrong('true or false')
      return value
    case 'texts':
      if (!Array.isArray(value)) throw wrong('a list')
      return value.map(String)
    case 'map':
      if (typeof value !== 'object' || Array.isArray(value)) throw wrong('names with values')
      return sortedMap(value)
    case 'list':
      if (!Array.isArray(value)) throw wrong('a list')
      return value.map((item, index) => readValue(item, shape.of, `${place}[${index}]`))
    case 'object':
      if (typeof value !== 'object' || Array.isArray(value)) throw wrong('an object')
      return readObject(value, shape.fields, place)
    default:
      return shape satisfies never
  }
}

function readObject(value: object, fields: Readonly<Record<string, Shape>>, place: string): unknown {
  const nameByKey = new Map(Object.keys(fields).map((name) => [name.toLowerCase(), name]))
  const read: Record<string, unknown> = {}
  for (const [name, shape] of Object.entries(fields)) {
    const empty = emptyOf(shape)
    if (empty !== undefined) read[name] = empty
  }
  for (const [key, item] of Object.entries(value) as [string, unknown][]) {
    const name = nameByKey.get(key)
    const shape = name === undefined ? undefined : fields[name]
    if (name === undefined || shape === undefined)
      throw new KpngError(
        'bad-file',
        `${place} has an unknown key "${key}": the known ones are ${[...nameByKey.keys()].join(', ')}`,
      )
    const field = readValue(item, shape, `${place}.${key}`)
    if (field !== undefined) read[name] = field
  }
  return read
}

/** What a message has where the file says nothing; submessages are absent then. */
function emptyOf(shape: Shape): unknown {
  switch (shape.kind) {
    case 'text':
      return ''
    case 'number':
      return 0
    case 'flag':
      return false
    case 'texts':
    case 'list':
      return []
    case 'map':
      return {}
    case 'ignored':
    case 'object':
      return undefined
    default:
      return shape satisfies never
  }
}

function sortedMap(value: object): Record<string, string> {
  const entries = Object.entries(value).map(([name, item]) => [name, String(item)] as const)
  return Object.fromEntries(entries.sort(([left], [right]) => compareBytes(left, right)))
}

/** Empty values are left out. */
function renderValue(value: unknown, shape: Shape): unknown {
  if (shape.kind === 'list') return (value as readonly unknown[]).map((item) => renderValue(item, shape.of))
  if (shape.kind !== 'object') return value
  const rendered: Record<string, unknown> = {}
  for (const [name, field] of Object.entries(shape.fields)) {
    const item = (value as Readonly<Record<string, unknown>>)[name]
    const isTopLevel = shape === stateShape
    if (field.kind === 'ignored' || item === undefined || (isEmpty(item) && !isTopLevel)) continue
    rendered[name.toLowerCase()] = renderValue(item, field)
  }
  return rendered
}

function isEmpty(value: unknown): boolean {
  if (typeof value === 'object' && value !== null && !Array.isArray(value) && 'V4' in value) return false
  return (
    value === '' ||
    value === 0 ||
    value === false ||
    (Array.isArray(value) && value.length === 0) ||
    (typeof value === 'object' && value !== null && Object.keys(value).length === 0)
  )
}
