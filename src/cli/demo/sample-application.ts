/** A small shop: a web front with three replicas, an API that keeps its clients, a UDP echo, and one Service with nobody behind it. */
import { ReplicaServers } from './replica-servers.ts'
import { backendHost } from './sample-backends.ts'

export interface SampleObject {
  /** Of the collection, e.g. `/api/v1/namespaces/shop/services`. */
  readonly path: string
  readonly object: {
    readonly metadata: { readonly name: string; readonly [field: string]: unknown }
    readonly [field: string]: unknown
  }
}

export const namespace = 'shop'

/** The node that the demo plays. */
export const demoNode: SampleObject = {
  path: '/api/v1/nodes',
  object: {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'demo-node' },
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
  },
}

export interface SampleService {
  readonly name: string
  readonly protocol: 'TCP' | 'UDP'
  readonly port: number
  readonly portName: string
  readonly replicas: number
  readonly spec?: Readonly<Record<string, unknown>>
}

export const sampleServices: readonly SampleService[] = [
  { name: 'web', protocol: 'TCP', port: 8080, portName: 'http', replicas: 3 },
  {
    name: 'api',
    protocol: 'TCP',
    port: 8081,
    portName: 'http',
    replicas: 2,
    spec: { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 600 } } },
  },
  { name: 'echo', protocol: 'UDP', port: 8082, portName: 'echo', replicas: 2 },
  { name: 'closed', protocol: 'TCP', port: 8083, portName: 'http', replicas: 0 },
]

/** On the slice of a replica whose server the demo runs. */
export const replicaLabel = 'demo.fairlead.dev/replica'
/** On such a slice; `true` stops the server. */
export const stoppedAnnotation = 'demo.fairlead.dev/stopped'

export interface SampleApplication extends AsyncDisposable {
  readonly servers: ReplicaServers
  readonly objects: readonly SampleObject[]
  /** The same, for `kubectl apply -f`. */
  readonly manifests: readonly SampleObject['object'][]
}

export async function startSampleApplication(): Promise<SampleApplication> {
  const servers = new ReplicaServers()
  const objects: SampleObject[] = [
    { path: '/api/v1/namespaces', object: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } } },
  ]
  try {
    for (const service of sampleServices) {
      objects.push(serviceObject(service))
      for (let replica = 1; replica <= service.replicas; replica++) {
        const name = `${service.name}-${replica}`
        objects.push(sliceObject(service, name, await servers.start(name, service.protocol)))
      }
    }
  } catch (error) {
    await servers[Symbol.asyncDispose]()
    throw error
  }
  return {
    servers,
    objects: objects.map(({ path, object }) => ({ path, object: asAppliedByKubectl(object) })),
    manifests: objects.map(({ object }) => object),
    [Symbol.asyncDispose]: () => servers[Symbol.asyncDispose](),
  }
}

/** kubectl warns when this annotation is missing, and sees a change unless the text is exactly what it would write. */
function asAppliedByKubectl(object: SampleObject['object']): SampleObject['object'] {
  const own = object.metadata['annotations'] ?? {}
  const applied = { ...object, metadata: { ...object.metadata, annotations: own } }
  const text = `${JSON.stringify(sorted(applied))}\n`
  const annotations = { ...own, 'kubectl.kubernetes.io/last-applied-configuration': text }
  return { ...object, metadata: { ...object.metadata, annotations } }
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([name, inner]) => [name, sorted(inner)] as const)
  return Object.fromEntries(entries.sort(([left], [right]) => (left < right ? -1 : 1)))
}

function serviceObject({ name, protocol, port, portName, spec }: SampleService): SampleObject {
  return {
    path: `/api/v1/namespaces/${namespace}/services`,
    object: {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, namespace, labels: { app: name } },
      // The default, written out so that applying the manifest again undoes a patch of it.
      spec: { type: 'ClusterIP', sessionAffinity: 'None', ...spec, ports: [{ name: portName, port, protocol }] },
    },
  }
}

/** One slice for each replica, because each has a port of its own on the same address. */
export function sliceObject({ name, protocol, portName }: SampleService, replica: string, port: number): SampleObject {
  return {
    path: `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`,
    object: {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: {
        name: replica,
        namespace,
        labels: { 'kubernetes.io/service-name': name, [replicaLabel]: 'true' },
        // The default, written out so that applying the manifest again undoes a change of it.
        annotations: { [stoppedAnnotation]: 'false' },
      },
      addressType: 'IPv4',
      ports: [{ name: portName, port, protocol }],
      endpoints: [{ addresses: [backendHost], conditions: { ready: true, serving: true, terminating: false } }],
    },
  }
}
