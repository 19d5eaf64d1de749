/** Which objects Fairlead asks for. The selectors are those of kube-proxy: see docs/kubernetes-source.md. */
import type { ObjectKind } from '../../../api/records.ts'

export interface ResourceQuery {
  /** For messages and metrics. */
  readonly kind: string
  /** The plural name and group, as in RBAC rules. */
  readonly resource: string
  readonly path: string
  readonly labelSelector?: string
  readonly fieldSelector?: string
  /** Old clusters do not have this API; then there are no such objects. */
  readonly mayBeAbsent?: boolean
}

export function resourceQueries(nodeName: string): Readonly<Record<ObjectKind, ResourceQuery>> {
  return {
    Node: {
      kind: 'Node',
      resource: 'nodes',
      path: '/api/v1/nodes',
      fieldSelector: `metadata.name=${nodeName}`,
    },
    Service: {
      kind: 'Service',
      resource: 'services',
      path: '/api/v1/services',
      labelSelector: '!service.kubernetes.io/service-proxy-name',
      fieldSelector: 'spec.clusterIP!=None',
    },
    EndpointSlice: {
      kind: 'EndpointSlice',
      resource: 'endpointslices.discovery.k8s.io',
      path: '/apis/discovery.k8s.io/v1/endpointslices',
      labelSelector: '!service.kubernetes.io/headless',
    },
    ServiceCIDR: {
      kind: 'ServiceCIDR',
      resource: 'servicecidrs.networking.k8s.io',
      path: '/apis/networking.k8s.io/v1/servicecidrs',
      mayBeAbsent: true,
    },
    Namespace: {
      kind: 'Namespace',
      resource: 'namespaces',
      path: '/api/v1/namespaces',
    },
  }
}

/**
 * For a process that serves every node: all Nodes, headless Services too (they may have external IPs), and the Services
 * that ask for the proxy of this name, or for none.
 */
export function clusterQueries(serviceProxyName: string): Readonly<Record<ObjectKind, ResourceQuery>> {
  const { Node: node, Service: service, EndpointSlice: slice, ServiceCIDR, Namespace } = resourceQueries('')
  const proxyLabel = 'service.kubernetes.io/service-proxy-name'
  const proxy = serviceProxyName === '' ? `!${proxyLabel}` : `${proxyLabel}=${serviceProxyName}`
  return {
    Node: withoutSelectors(node),
    Service: { ...withoutSelectors(service), labelSelector: `${proxy},!service.kubernetes.io/headless` },
    EndpointSlice: withoutSelectors(slice),
    ServiceCIDR,
    Namespace,
  }
}

function withoutSelectors({ kind, resource, path }: ResourceQuery): ResourceQuery {
  return { kind, resource, path }
}
