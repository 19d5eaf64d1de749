/** Small objects of the global model. */
import { clusterEndpoint, clusterNode, clusterService } from '../model/cluster-model.ts'
import type { ClusterEndpoint, ClusterNode, ClusterService } from '../model/cluster-model.ts'
import { ipSet, noIps } from '../model/ip-set.ts'
import { Protocol } from '../proto/generated/localv1/api.ts'
import type { Service } from '../proto/generated/localv1/api.ts'
import { GlobalStore } from '../store/global-store.ts'

export function sampleService(
  path: string,
  changes: Partial<Service> & { readonly port?: number } = {},
): ClusterService {
  const [Namespace = '', Name = ''] = path.split('/')
  const { port = 80, ...rest } = changes
  return clusterService({
    Namespace,
    Name,
    Type: 'ClusterIP',
    IPs: { ClusterIPs: ipSet(['10.96.0.10']), ExternalIPs: noIps, Headless: false },
    MapIP: false,
    Ports: [{ Name: 'http', Protocol: Protocol.TCP, Port: port, NodePort: 0, TargetPort: 8080, TargetPortName: '' }],
    ExternalTrafficToLocal: false,
    InternalTrafficToLocal: false,
    Labels: {},
    Annotations: {},
    IPFilters: [],
    HealthCheckNodePort: 0,
    ...rest,
  })
}

export interface SampleEndpoint {
  readonly ip: string
  readonly pod?: string
  readonly node?: string
  readonly source?: string
  readonly zones?: readonly string[]
  readonly nodeHints?: readonly string[]
  readonly ready?: boolean
  readonly terminating?: boolean
}

function sampleEndpoint(path: string, sample: SampleEndpoint): ClusterEndpoint {
  const [Namespace = '', ServiceName = ''] = path.split('/')
  const { ip, pod = '', node = '', source = `${ServiceName}-abcde`, zones = [], nodeHints = [] } = sample
  const { ready = true, terminating = false } = sample
  return clusterEndpoint(
    {
      Namespace,
      ServiceName,
      SourceName: source,
      PodName: pod,
      Endpoint: { Hostname: '', IPs: ipSet([ip]), Local: false, PortOverrides: [{ Name: 'http', Port: 8080 }] },
      Topology: { Node: node, Zone: '' },
      Conditions: { Ready: ready },
      ...(zones.length > 0 && { Hints: { Zones: zones } }),
    },
    { serving: ready || terminating, terminating, nodeHints },
  )
}

export function sampleNode(name: string, zone = ''): ClusterNode {
  return clusterNode({ Name: name, Labels: {}, Annotations: {}, Topology: { Node: name, Zone: zone } })
}

export function setEndpoints(
  store: GlobalStore,
  path: string,
  samples: readonly SampleEndpoint[],
  source?: string,
): void {
  const [namespace = '', service = ''] = path.split('/')
  const name = source ?? `${service}-abcde`
  const endpoints = samples.map((sample) => sampleEndpoint(path, { ...sample, source: name }))
  store.replaceSource({ namespace, service, source: name, endpoints })
}

/** All sets are complete. */
export function syncedStore(options?: ConstructorParameters<typeof GlobalStore>[0]): GlobalStore {
  const store = new GlobalStore(options)
  for (const set of ['services', 'endpoints', 'nodes'] as const) store.markSynced(set)
  store.commit()
  return store
}
