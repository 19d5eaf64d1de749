/** Services of the test cluster, and the Kubernetes objects they stand for. */
import type { Family } from '../../../src/net/ip.ts'
import { families } from '../../../src/net/ip.ts'
import type { AddressPlan, PodName } from './address-plan.ts'
import { localPods, plans } from './address-plan.ts'

export interface ServiceFixture {
  readonly namespace: string
  readonly name: string
  /** Its addresses and node ports follow from this number, so no two Services have the same. */
  readonly index: number
  readonly type: 'ClusterIP' | 'NodePort' | 'LoadBalancer'
  readonly ports: readonly PortFixture[]
  readonly internalTrafficPolicy: 'Cluster' | 'Local'
  readonly externalTrafficPolicy: 'Cluster' | 'Local'
  readonly hasExternalIP: boolean
  /** What its load balancer got. A proxied VIP is one whose packets come through the load balancer anyway. */
  readonly vips: 'none' | 'one' | 'two' | 'proxied' | 'host name'
  /** Addresses of others that it names as external IPs of its own, and as its VIPs. */
  readonly takesAsExternalIPs: (plan: AddressPlan) => readonly string[]
  readonly takesAsVips: (plan: AddressPlan) => readonly string[]
  readonly sourceRanges: readonly string[]
  /** 0 for none. */
  readonly affinitySeconds: number
  readonly endpoints: readonly EndpointFixture[]
  /** How many servers of it each pod has, each an endpoint of its own: see `targetsOf`. */
  readonly serversPerPod: number
  readonly annotations: Readonly<Record<string, string>>
  /** Of its Namespace; other Services there must say the same, or nothing. */
  readonly namespaceAnnotations: Readonly<Record<string, string>>
}

export interface PortFixture {
  readonly name: string
  readonly protocol: 'TCP' | 'UDP' | 'SCTP'
  readonly port: number
  readonly target: number
}

type EndpointState = 'ready' | 'serving while terminating' | 'terminating' | 'not ready'

export type EndpointFixture =
  | PodName
  | {
      readonly pod: PodName
      /** Ready, if nothing is said. */
      readonly is?: EndpointState
      /** Hints of the topology: meant for clients in these zones. The node of the proxy is in `ownZone`. */
      readonly forZones?: readonly string[]
    }

export const webPort: PortFixture = { name: 'http', protocol: 'TCP', port: 80, target: 8080 }

/** A Service with one port, http, and what is said about it. */
export function givenService(
  name: string,
  index: number,
  facts: Partial<Omit<ServiceFixture, 'name' | 'index'>>,
): ServiceFixture {
  return {
    namespace: 'shop',
    name,
    index,
    type: 'ClusterIP',
    ports: [webPort],
    internalTrafficPolicy: 'Cluster',
    externalTrafficPolicy: 'Cluster',
    hasExternalIP: false,
    vips: facts.type === 'LoadBalancer' ? 'one' : 'none',
    takesAsExternalIPs: () => [],
    takesAsVips: () => [],
    sourceRanges: [],
    affinitySeconds: 0,
    endpoints: [],
    serversPerPod: 1,
    annotations: {},
    namespaceAnnotations: {},
    ...facts,
  }
}

export function nodePortOf({ index }: ServiceFixture, portNumber = 0): number {
  return 30_000 + 10 * index + portNumber
}

export function healthPortOf({ index }: ServiceFixture): number {
  return 32_000 + index
}

export interface KubernetesObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly labels?: Record<string, string>
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly [field: string]: unknown
}

/** Both families, as a dual-stack cluster has it. */
export function objectsOf(service: ServiceFixture): readonly KubernetesObject[] {
  const servers = Array.from({ length: service.serversPerPod }, (_, server) => server)
  const slices = families.flatMap((family) => servers.map((server) => sliceObject(service, family, server)))
  const { namespace, namespaceAnnotations: annotations } = service
  const isSpecial = Object.keys(annotations).length > 0
  const place = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, annotations } }
  return [...(isSpecial ? [place] : []), serviceObject(service), ...slices]
}

/** Where the servers of a pod listen. */
export function targetsOf({ serversPerPod }: ServiceFixture, { target }: PortFixture): readonly number[] {
  return Array.from({ length: serversPerPod }, (_, server) => target + server)
}

function serviceObject(service: ServiceFixture): KubernetesObject {
  const { namespace, name, index, type, affinitySeconds, sourceRanges, annotations } = service
  const isExternal = type !== 'ClusterIP' || service.hasExternalIP
  const clusterIPs = families.map((family) => plans[family].clusterIP(index))
  const externalIPs = [
    ...(service.hasExternalIP ? families.map((family) => plans[family].externalIP(index)) : []),
    ...families.flatMap((family) => service.takesAsExternalIPs(plans[family])),
  ]
  const taken = families.flatMap((family) => service.takesAsVips(plans[family]))
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace, annotations },
    spec: {
      type,
      clusterIP: clusterIPs[0],
      clusterIPs,
      ipFamilies: ['IPv4', 'IPv6'],
      ipFamilyPolicy: 'RequireDualStack',
      internalTrafficPolicy: service.internalTrafficPolicy,
      ...(isExternal ? { externalTrafficPolicy: service.externalTrafficPolicy } : {}),
      ...(externalIPs.length > 0 ? { externalIPs } : {}),
      ...(sourceRanges.length > 0 ? { loadBalancerSourceRanges: sourceRanges } : {}),
      ...(hasHealthPort(service) ? { healthCheckNodePort: healthPortOf(service) } : {}),
      sessionAffinity: affinitySeconds > 0 ? 'ClientIP' : 'None',
      ...(affinitySeconds > 0 ? { sessionAffinityConfig: { clientIP: { timeoutSeconds: affinitySeconds } } } : {}),
      ports: service.ports.map(({ target, ...port }, number) => ({
        ...port,
        targetPort: target,
        ...(type === 'ClusterIP' ? {} : { nodePort: nodePortOf(service, number) }),
      })),
    },
    status: {
      loadBalancer: {
        ingress: [...ingressOf(service), ...taken.map((ip) => ({ ip }))],
      },
    },
  }
}

function hasHealthPort({ type, externalTrafficPolicy }: ServiceFixture): boolean {
  return type === 'LoadBalancer' && externalTrafficPolicy === 'Local'
}

function ingressOf({ vips, index }: ServiceFixture): readonly Readonly<Record<string, string>>[] {
  const each = (address: (plan: AddressPlan) => string) => families.map((family) => ({ ip: address(plans[family]) }))
  const first = each((plan) => plan.vip(index))
  switch (vips) {
    case 'none':
      return []
    case 'one':
      return first
    case 'two':
      return [...first, ...each((plan) => plan.secondVip(index))]
    case 'proxied':
      return first.map((ingress) => ({ ...ingress, ipMode: 'Proxy' }))
    case 'host name':
      return [{ hostname: 'lb.example.org' }]
    default:
      return vips satisfies never
  }
}

function sliceObject(service: ServiceFixture, family: Family, server: number): KubernetesObject {
  const { namespace, name, ports, endpoints } = service
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: `${name}-${family}-${server}`, namespace, labels: { 'kubernetes.io/service-name': name } },
    addressType: family === 'ipv4' ? 'IPv4' : 'IPv6',
    ports: ports.map((port) => ({
      name: port.name,
      protocol: port.protocol,
      port: targetsOf(service, port)[server],
    })),
    endpoints: endpoints.map((endpoint) => endpointObject(endpoint, family)),
  }
}

function endpointObject(endpoint: EndpointFixture, family: Family): Readonly<Record<string, unknown>> {
  const { pod, is = 'ready', forZones } = typeof endpoint === 'string' ? { pod: endpoint } : endpoint
  const isLocal = (localPods as readonly PodName[]).includes(pod)
  return {
    addresses: [plans[family].hosts[pod]],
    nodeName: isLocal ? nodeName : 'node2',
    conditions: conditions[is],
    ...(forZones && { hints: { forZones: forZones.map((name) => ({ name })) } }),
  }
}

const conditions: Readonly<Record<EndpointState, Readonly<Record<string, boolean>>>> = {
  ready: { ready: true, serving: true, terminating: false },
  'serving while terminating': { ready: false, serving: true, terminating: true },
  terminating: { ready: false, serving: false, terminating: true },
  'not ready': { ready: false, serving: true, terminating: false },
}

/** The node that the proxy under test runs on. */
export const nodeName = 'node1'
export const ownZone = 'zone-a'

export const clusterObjects: readonly KubernetesObject[] = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
  {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: nodeName,
      labels: { 'kubernetes.io/hostname': nodeName, 'topology.kubernetes.io/zone': ownZone },
    },
    spec: { podCIDR: plans.ipv4.localPodRange, podCIDRs: families.map((family) => plans[family].localPodRange) },
    status: { addresses: families.map((family) => ({ type: 'InternalIP', address: plans[family].nodeIP })) },
  },
  serviceCidrObject('packets', (plan) => plan.serviceRange),
]

export function serviceCidrObject(name: string, range: (plan: AddressPlan) => string): KubernetesObject {
  const cidrs = families.map((family) => range(plans[family]))
  return { apiVersion: 'networking.k8s.io/v1', kind: 'ServiceCIDR', metadata: { name }, spec: { cidrs } }
}
