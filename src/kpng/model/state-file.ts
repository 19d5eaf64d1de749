/** The global model as a file that people can read and write: KPNG's own format. */
import { isNode, LineCounter, parseDocument, stringify } from 'yaml'
import type { Document } from 'yaml'
import { KpngError } from '../kpng-error.ts'
import type { EndpointInfo, Node } from '../proto/generated/globalv1/api.ts'
import type { Endpoint, Service } from '../proto/generated/localv1/api.ts'
import type { GlobalStore } from '../store/global-store.ts'
import { compareBytes } from '../wire/byte-order.ts'
import { servicePath } from '../wire/paths.ts'
import { clusterEndpoint, clusterNode, clusterService } from './cluster-model.ts'
import type { ClusterEndpoint, ClusterNode, ClusterService } from './cluster-model.ts'
import { pathText, recordProblem } from './record-problem.ts'
import type { RecordProblem } from './record-problem.ts'
import { stateShape } from './state-shape.ts'
import type { Shape } from './state-shape.ts'
import { readStateValue, StateMistake } from './state-values.ts'
import { shortened } from '../../net/shown-value.ts'

export interface FileState {
  readonly nodes: readonly ClusterNode[]
  readonly services: readonly { readonly service: ClusterService; readonly endpoints: readonly ClusterEndpoint[] }[]
}

/** Throws a KpngError that names the file, the line and the field of what is wrong. */
export function parseStateFile(content: string, file: string): FileState {
  const lines = new LineCounter()
  const document = parseDocument(content, { lineCounter: lines })
  const [mistake] = document.errors
  if (mistake !== undefined) throw new KpngError('bad-file', `${file}: ${shortened(mistake.message)}`)
  try {
    return checkedState(readStateValue(document.toJS() ?? {}, stateShape, []) as ReadState)
  } catch (error) {
    if (!(error instanceof StateMistake)) throw new KpngError('bad-file', `${file}: ${String(error)}`, { cause: error })
    const { path, reason } = error.problem
    const where = `${file}:${lineOf(path, document, lines)}`
    throw new KpngError('bad-file', `${where}: ${pathText(path)} ${reason}`)
  }
}

function checkedState({ Nodes = [], Services = [] }: ReadState): FileState {
  const state = {
    Nodes: Nodes.map((node): Node => ({ ...bareNode, ...node })),
    Services: Services.map(({ Service: service, Endpoints = [] }) => ({
      Service: completeService(service),
      Endpoints,
    })),
  }
  const problem =
    recordProblem(state, stateShape) ?? repetitionIn(state.Services.map(({ Service: service }) => service))
  if (problem !== undefined) throw new StateMistake(problem)
  return {
    nodes: state.Nodes.map(clusterNode),
    services: state.Services.map(({ Service: service, Endpoints }) => ({
      service: clusterService(service),
      endpoints: Endpoints.map((endpoint) => readEndpoint(endpoint, service)),
    })),
  }
}

function completeService(read: ReadService | undefined): Service {
  return {
    ...bareService,
    ...read,
    Namespace: read?.Namespace || bareService.Namespace,
    Type: read?.Type || bareService.Type,
    SessionAffinity: affinityOf(read),
  }
}

/** Otherwise the last one would win, and nobody would see why. */
function repetitionIn(services: readonly Service[]): RecordProblem | undefined {
  const seen = new Set<string>()
  for (const [index, { Namespace, Name }] of services.entries()) {
    const path = servicePath(Namespace, Name)
    if (seen.has(path)) return { path: ['Services', index], reason: `is a second Service ${path}` }
    seen.add(path)
  }
  return undefined
}

/** The line of the field, or of its parent if it is missing. */
function lineOf(path: RecordProblem['path'], document: Document, lines: LineCounter): number {
  const keys = path.map((part) => (typeof part === 'number' ? part : part.toLowerCase()))
  for (let length = keys.length; length > 0; length--) {
    const node = document.getIn(keys.slice(0, length), true)
    if (isNode(node) && node.range) return lines.linePos(node.range[0]).line
  }
  return 1
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
