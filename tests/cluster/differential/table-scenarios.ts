import { create, endpointSlice, patch, service, table } from './scenario.ts'
import type { JsonObject, Scenario } from './scenario.ts'

const ports = [
  { name: 'http', port: 80, nodePort: 30851 },
  { name: 'dns', port: 53, protocol: 'UDP', nodePort: 30852 },
]

/** Each is the spec of a Service, and shows in `kubectl get services`. */
const specs: Readonly<Record<string, JsonObject>> = {
  'a ClusterIP Service': { selector: { app: 'web', tier: 'front' }, ports: [{ port: 80 }] },
  'a Service with external IPs': { externalIPs: ['203.0.113.5', '203.0.113.6'], ports: [{ port: 80 }] },
  'a headless Service': { clusterIP: 'None', ports: [{ port: 80 }] },
  'a Service without ports': { clusterIP: 'None' },
  'a NodePort Service': { type: 'NodePort', clusterIP: '10.96.42.1', ports },
  'a LoadBalancer Service that waits': { type: 'LoadBalancer', ports },
  'a LoadBalancer Service with external IPs': { type: 'LoadBalancer', externalIPs: ['203.0.113.5'], ports },
  'an ExternalName Service': { type: 'ExternalName', externalName: 'db.example.com' },
  'a Service with IPv6': { clusterIP: 'fd00:10:96::4242', ports: [{ port: 80 }] },
}

const time = '2026-01-01T00:00:00Z'

function ready(address: string): JsonObject {
  return { addresses: [address], conditions: { ready: true } }
}

export const tableScenarios: readonly Scenario[] = [
  ...Object.entries(specs).map(([name, spec]) => ({
    name: `the table of ${name}`,
    steps: [create('services', service(spec)), table('services'), table('services', '/web')],
  })),
  {
    name: 'the table of a LoadBalancer Service with addresses',
    steps: [
      create('services', service({ type: 'LoadBalancer', externalIPs: ['203.0.113.5'], ports })),
      patch('merge', 'services', 'web/status', {
        status: { loadBalancer: { ingress: [{ ip: '203.0.113.7' }, { hostname: 'lb.example.com' }] } },
      }),
      table('services'),
    ],
  },
  { name: 'a table without rows', steps: [table('services')] },
  { name: 'a table of what does not exist', steps: [table('services', '/web')] },
  {
    name: 'a table with whole objects',
    steps: [create('services', service({ clusterIP: 'None' })), table('services', '?includeObject=Object')],
  },
  {
    name: 'the table of a slice',
    steps: [
      create(
        'endpointslices',
        endpointSlice({
          addressType: 'IPv4',
          endpoints: ['10.64.0.1', '10.64.0.2', '10.64.0.3', '10.64.0.4'].map(ready),
          ports: [
            { name: 'a', port: 1 },
            { name: 'b', port: 2 },
            { name: 'c', port: 3 },
            { name: 'd', port: 4 },
          ],
        }),
      ),
      table('endpointslices'),
    ],
  },
  {
    name: 'the table of an empty slice',
    steps: [create('endpointslices', endpointSlice({ addressType: 'IPv6', endpoints: [] })), table('endpointslices')],
  },
  {
    name: 'the table of Endpoints',
    steps: [
      create('endpoints', {
        apiVersion: 'v1',
        kind: 'Endpoints',
        metadata: { name: 'web' },
        subsets: [
          {
            addresses: ['10.64.0.1', '10.64.0.2'].map((ip) => ({ ip })),
            ports: [
              { name: 'a', port: 1 },
              { name: 'b', port: 2 },
            ],
          },
        ],
      }),
      table('endpoints'),
    ],
  },
  {
    name: 'the table of a Node',
    steps: [
      create('nodes', {
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name: 'node-a', labels: { 'node-role.kubernetes.io/worker': '' } },
        spec: { unschedulable: true },
        status: {
          addresses: [{ type: 'InternalIP', address: '192.0.2.1' }],
          conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: time, lastTransitionTime: time }],
          nodeInfo: {
            kubeletVersion: 'v1.36.4',
            osImage: 'Linux',
            kernelVersion: '6.1',
            containerRuntimeVersion: 'none://1',
          },
        },
      }),
      table('nodes'),
    ],
  },
  {
    name: 'the table of a ServiceCIDR',
    steps: [
      create('servicecidrs', {
        apiVersion: 'networking.k8s.io/v1',
        kind: 'ServiceCIDR',
        metadata: { name: 'more' },
        spec: { cidrs: ['10.97.0.0/24', 'fd00:10:97::/112'] },
      }),
      table('servicecidrs', '/more'),
    ],
  },
  { name: 'the table of a Namespace', steps: [table('namespaces', '/default?includeObject=None')] },
  {
    name: 'the table of an Event',
    steps: [
      create('events', {
        apiVersion: 'events.k8s.io/v1',
        kind: 'Event',
        metadata: { name: 'node-a.1' },
        eventTime: '2026-01-01T00:00:00.000000Z',
        type: 'Normal',
        reason: 'Starting',
        action: 'StartKubeProxy',
        note: 'started',
        reportingController: 'kube-proxy',
        reportingInstance: 'node-a',
        regarding: { kind: 'Node', name: 'node-a', namespace: 'demo' },
      }),
      table('events'),
    ],
  },
]
