/** Kubernetes objects as a user would write them. */
import { stringify } from 'yaml'

export interface KubernetesObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly [field: string]: unknown }
  readonly [field: string]: unknown
}

/** A Service in `default` with one port, called http. */
export function service(name: string, port: number, spec: Readonly<Record<string, unknown>> = {}): KubernetesObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: 'default' },
    spec: { ports: [{ name: 'http', port }], ...spec },
  }
}

/** The slice `<service>-1`, with one endpoint on loopback. */
export function slice(
  serviceName: string,
  port: number,
  endpoint: Readonly<Record<string, unknown>> = {},
): KubernetesObject {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: `${serviceName}-1`,
      namespace: 'default',
      labels: { 'kubernetes.io/service-name': serviceName },
    },
    addressType: 'IPv4',
    ports: [{ name: 'http', port }],
    endpoints: [{ addresses: ['127.0.0.1'], ...endpoint }],
  }
}

export function node(name: string): KubernetesObject {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name },
    status: { addresses: [{ type: 'InternalIP', address: '127.0.0.1' }] },
  }
}

/** Several documents in one file. */
export function manifest(...objects: readonly KubernetesObject[]): string {
  return objects.map((object) => stringify(object)).join('---\n')
}
