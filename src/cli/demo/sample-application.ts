/** A small shop: a web front with three replicas, an API that keeps its clients, a UDP echo, and one Service with nobody behind it. */
import { backendHost, startHttpBackend, startUdpBackend } from './sample-backends.ts'
import type { SampleBackend } from './sample-backends.ts'

export interface SampleObject {
  /** Of the collection, e.g. `/api/v1/namespaces/shop/services`. */
  readonly path: string
  readonly object: {
    readonly metadata: { readonly name: string; readonly [field: string]: unknown }
    readonly [field: string]: unknown
  }
}

const namespace = 'shop'

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

interface SampleService {
  readonly name: string
  readonly protocol: 'TCP' | 'UDP'
  readonly port: number
  readonly portName: string
  readonly replicas: number
  readonly spec?: Readonly<Record<string, unknown>>
}

const services: readonly SampleService[] = [
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

export interface SampleApplication extends AsyncDisposable {
  readonly objects: readonly SampleObject[]
  /** The same, for `kubectl apply -f`. */
  readonly manifests: readonly SampleObject['object'][]
}

export async function startSampleApplication(): Promise<SampleApplication> {
  const backends: SampleBackend[] = []
  const stop = async () => {
    for (const backend of backends) await backend[Symbol.asyncDispose]()
  }
  const objects: SampleObject[] = [
    { path: '/api/v1/namespaces', object: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } } },
  ]
  try {
    for (const service of services) {
      objects.push(serviceObject(service))
      const start = service.protocol === 'UDP' ? startUdpBackend : startHttpBackend
      for (let replica = 1; replica <= service.replicas; replica++) {
        const backend = await start(`${service.name}-${replica}`)
        backends.push(backend)
        objects.push(sliceObject(service, backend))
      }
    }
  } catch (error) {
    await stop()
    throw error
  }
  return {
    objects: objects.map(({ path, object }) => ({ path, object: asAppliedByKubectl(object) })),
    manifests: objects.map(({ object }) => object),
    [Symbol.asyncDispose]: stop,
  }
}

/** kubectl warns when this annotation is missing, and sees a change unless the text is exactly what it would write. */
function asAppliedByKubectl(object: SampleObject['object']): SampleObject['object'] {
  const applied = { ...object, metadata: { ...object.metadata, annotations: {} } }
  const text = `${JSON.stringify(sorted(applied))}\n`
  const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': text }
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
function sliceObject({ name, protocol, portName }: SampleService, backend: SampleBackend): SampleObject {
  return {
    path: `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`,
    object: {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: backend.name, namespace, labels: { 'kubernetes.io/service-name': name } },
      addressType: 'IPv4',
      ports: [{ name: portName, port: backend.port, protocol }],
      endpoints: [{ addresses: [backendHost], conditions: { ready: true } }],
    },
  }
}
