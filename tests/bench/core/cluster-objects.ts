/**
 * The objects of a large cluster, as a real API server sends them: with labels, owners and managed fields, which a
 * proxy has to read past.
 */
import type { JsonObject } from '../../../src/api/json-reader.ts'

export const nodeName = 'node-0'
const endpointsPerService = 4
/** Has the first address of every pod in it. */
export const podRange = '10.128.0.0/9'

const nodes = 500
const zones = ['zone-a', 'zone-b', 'zone-c']
const created = '2026-05-04T09:12:31Z'

export function serviceName(index: number): { readonly namespace: string; readonly name: string } {
  return { namespace: `team-${index % 100}`, name: `checkout-backend-${index}` }
}

/** Its cluster IP. */
export function serviceAddress(index: number): string {
  return ipv4(10, 96, index)
}

/** Of one of the pods of a Service. */
export function podAddress(index: number, place: number): string {
  return ipv4(10, 128, index * endpointsPerService + place)
}

/** One in ten has a node port, one in fifty a load balancer; the others are plain cluster IPs. */
export function serviceObject(index: number, resourceVersion: number): JsonObject {
  const { namespace, name } = serviceName(index)
  const type = index % 50 === 0 ? 'LoadBalancer' : index % 10 === 0 ? 'NodePort' : 'ClusterIP'
  const clusterIP = serviceAddress(index)
  return {
    kind: 'Service',
    apiVersion: 'v1',
    metadata: {
      name,
      namespace,
      uid: uid('5e41', index),
      resourceVersion: String(resourceVersion),
      creationTimestamp: created,
      labels: labelsOf(name),
      annotations: { 'meta.helm.sh/release-name': name, 'meta.helm.sh/release-namespace': namespace },
      managedFields: [
        managed('helm', 'v1', {
          'f:metadata': {
            'f:annotations': { '.': {}, 'f:meta.helm.sh/release-name': {}, 'f:meta.helm.sh/release-namespace': {} },
            'f:labels': fieldsOf(labelsOf(name)),
          },
          'f:spec': {
            'f:internalTrafficPolicy': {},
            'f:ports': {
              '.': {},
              'k:{"port":80,"protocol":"TCP"}': {
                '.': {},
                'f:name': {},
                'f:port': {},
                'f:protocol': {},
                'f:targetPort': {},
              },
            },
            'f:selector': {},
            'f:sessionAffinity': {},
            'f:type': {},
          },
        }),
      ],
    },
    spec: {
      ports: [
        {
          name: 'http',
          protocol: 'TCP',
          port: 80,
          targetPort: 8080,
          ...(type === 'ClusterIP' ? {} : { nodePort: 30_000 + index / 10 }),
        },
      ],
      selector: { 'app.kubernetes.io/instance': name, 'app.kubernetes.io/name': 'checkout-backend' },
      clusterIP,
      clusterIPs: [clusterIP],
      type,
      sessionAffinity: 'None',
      ipFamilies: ['IPv4'],
      ipFamilyPolicy: 'SingleStack',
      internalTrafficPolicy: 'Cluster',
      ...(type === 'ClusterIP' ? {} : { externalTrafficPolicy: 'Cluster' }),
      ...(type === 'LoadBalancer' ? { allocateLoadBalancerNodePorts: true } : {}),
    },
    status: {
      loadBalancer: type === 'LoadBalancer' ? { ingress: [{ ip: ipv4(172, 20, index), ipMode: 'VIP' }] } : {},
    },
  }
}

/** The slice of a Service. With `moved` the last pod has been replaced, and `moved` tells its address. */
export function sliceObject(index: number, resourceVersion: number, moved = 0): JsonObject {
  const { namespace, name } = serviceName(index)
  const labels = {
    ...labelsOf(name),
    'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
    'kubernetes.io/service-name': name,
  }
  const owner = uid('5e41', index)
  return {
    kind: 'EndpointSlice',
    apiVersion: 'discovery.k8s.io/v1',
    metadata: {
      name: sliceName(index),
      generateName: `${name}-`,
      namespace,
      uid: uid('51ce', index),
      resourceVersion: String(resourceVersion),
      generation: 7,
      creationTimestamp: created,
      labels,
      annotations: { 'endpoints.kubernetes.io/last-change-trigger-time': '2026-05-04T09:13:02Z' },
      ownerReferences: [
        { apiVersion: 'v1', kind: 'Service', name, uid: owner, controller: true, blockOwnerDeletion: true },
      ],
      managedFields: [
        managed('kube-controller-manager', 'discovery.k8s.io/v1', {
          'f:addressType': {},
          'f:endpoints': {},
          'f:metadata': {
            'f:annotations': { '.': {}, 'f:endpoints.kubernetes.io/last-change-trigger-time': {} },
            'f:generateName': {},
            'f:labels': fieldsOf(labels),
            'f:ownerReferences': { '.': {}, [`k:{"uid":"${owner}"}`]: {} },
          },
          'f:ports': {},
        }),
      ],
    },
    addressType: 'IPv4',
    endpoints: Array.from({ length: endpointsPerService }, (_, place) => {
      const pod = index * endpointsPerService + place
      const isMoved = place === endpointsPerService - 1 && moved > 0
      return {
        addresses: [isMoved ? ipv4(11, 0, moved) : podAddress(index, place)],
        conditions: { ready: true, serving: true, terminating: false },
        targetRef: { kind: 'Pod', namespace, name: `${name}-7d9c5b6f4d-${suffix(pod)}`, uid: uid('90d0', pod) },
        nodeName: `node-${pod % nodes}`,
        zone: zones[(pod % nodes) % zones.length],
      }
    }),
    ports: [{ name: 'http', protocol: 'TCP', port: 8080 }],
  }
}

function sliceName(index: number): string {
  return `${serviceName(index).name}-${suffix(index)}`
}

export function nodeObject(resourceVersion: number): JsonObject {
  return {
    kind: 'Node',
    apiVersion: 'v1',
    metadata: {
      name: nodeName,
      resourceVersion: String(resourceVersion),
      labels: { 'topology.kubernetes.io/zone': zones[0] },
    },
    spec: { podCIDR: '10.128.0.0/24', podCIDRs: ['10.128.0.0/24'] },
    status: { addresses: [{ type: 'InternalIP', address: '192.0.2.10' }] },
  }
}

export function serviceCidrObject(resourceVersion: number): JsonObject {
  return {
    kind: 'ServiceCIDR',
    apiVersion: 'networking.k8s.io/v1',
    metadata: { name: 'kubernetes', resourceVersion: String(resourceVersion) },
    spec: { cidrs: ['10.96.0.0/12'] },
  }
}

function labelsOf(name: string): Record<string, string> {
  return {
    'app.kubernetes.io/instance': name,
    'app.kubernetes.io/managed-by': 'Helm',
    'app.kubernetes.io/name': 'checkout-backend',
    'app.kubernetes.io/version': '4.18.2',
    'helm.sh/chart': 'checkout-backend-4.18.2',
  }
}

function fieldsOf(labels: Readonly<Record<string, string>>): JsonObject {
  return Object.fromEntries([['.', {}], ...Object.keys(labels).map((label) => [`f:${label}`, {}])])
}

function managed(manager: string, apiVersion: string, fieldsV1: JsonObject): JsonObject {
  return { manager, operation: 'Update', apiVersion, time: created, fieldsType: 'FieldsV1', fieldsV1 }
}

/** Counts on from `first.second.0.0`. */
function ipv4(first: number, second: number, index: number): string {
  return `${first}.${second + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`
}

function uid(prefix: string, index: number): string {
  return `${index.toString(16).padStart(8, '0')}-${prefix}-4c1d-9b7e-3f2a61d0c8e5`
}

function suffix(index: number): string {
  return index.toString(36).padStart(5, 'x')
}
