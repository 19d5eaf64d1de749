import { create, get, patch, path, remove, replace, service } from './scenario.ts'
import type { JsonObject, Scenario } from './scenario.ts'

const port80 = [{ port: 80 }]
const clusterIP: JsonObject = { ports: port80 }
const nodePort: JsonObject = { type: 'NodePort', ports: [{ port: 80, nodePort: 30801 }] }
const loadBalancer: JsonObject = {
  type: 'LoadBalancer',
  externalTrafficPolicy: 'Local',
  healthCheckNodePort: 31801,
  ports: [{ port: 80, nodePort: 30802 }],
}

/** From one spec to another with a full update. */
const updates: Readonly<Record<string, readonly [JsonObject, JsonObject]>> = {
  'an update without the cluster IP keeps it': [{ ...clusterIP, clusterIP: '10.96.41.1' }, clusterIP],
  'an update to another cluster IP': [
    { ...clusterIP, clusterIP: '10.96.41.2' },
    { ...clusterIP, clusterIP: '10.96.41.3' },
  ],
  'an update from a cluster IP to headless': [clusterIP, { ...clusterIP, clusterIP: 'None' }],
  'an update of the port': [clusterIP, { ports: [{ port: 81 }] }],
  'an update without ports': [clusterIP, { selector: { app: 'web' } }],
  'an update from ClusterIP to NodePort': [clusterIP, { type: 'NodePort', ports: port80 }],
  'an update from NodePort to ClusterIP': [nodePort, { type: 'ClusterIP', ports: port80 }],
  'an update from NodePort to ClusterIP that keeps the node port': [nodePort, { ...nodePort, type: 'ClusterIP' }],
  'an update of a NodePort Service without the node port keeps it': [nodePort, { type: 'NodePort', ports: port80 }],
  'an update of a node port': [nodePort, { type: 'NodePort', ports: [{ port: 80, nodePort: 30803 }] }],
  'an update from LoadBalancer to ClusterIP': [loadBalancer, clusterIP],
  'an update from LoadBalancer to NodePort': [loadBalancer, { type: 'NodePort', ports: port80 }],
  'an update of a LoadBalancer Service without its health check port': [
    loadBalancer,
    { type: 'LoadBalancer', externalTrafficPolicy: 'Local', ports: port80 },
  ],
  'an update of a health check port': [loadBalancer, { ...loadBalancer, healthCheckNodePort: 31802 }],
  'an update from policy Local to Cluster': [loadBalancer, { ...loadBalancer, externalTrafficPolicy: 'Cluster' }],
  'an update from ClusterIP to LoadBalancer with a class': [
    clusterIP,
    { type: 'LoadBalancer', loadBalancerClass: 'example.com/lb', ports: port80 },
  ],
  'an update of a load balancer class': [
    { type: 'LoadBalancer', loadBalancerClass: 'example.com/lb', ports: port80 },
    { type: 'LoadBalancer', loadBalancerClass: 'example.com/other', ports: port80 },
  ],
  'an update from ClusterIP to ExternalName': [clusterIP, { type: 'ExternalName', externalName: 'db.example.com' }],
  'an update from ExternalName to ClusterIP': [{ type: 'ExternalName', externalName: 'db.example.com' }, clusterIP],
  'an update from single to dual stack': [clusterIP, { ...clusterIP, ipFamilyPolicy: 'PreferDualStack' }],
  'an update from dual to single stack': [
    { ...clusterIP, ipFamilyPolicy: 'RequireDualStack' },
    { ...clusterIP, ipFamilyPolicy: 'SingleStack' },
  ],
  'an update of the first family': [clusterIP, { ...clusterIP, ipFamilies: ['IPv6'] }],
  'an update that removes client affinity': [{ ...clusterIP, sessionAffinity: 'ClientIP' }, clusterIP],
}

const created = create('services', service(nodePort))

export const serviceChangeScenarios: readonly Scenario[] = [
  ...Object.entries(updates).map(([name, [before, after]]) => ({
    name,
    steps: [create('services', service(before)), replace('services', 'web', service(after)), get('services', 'web')],
  })),
  {
    name: 'an update of an older version',
    steps: [created, replace('services', 'web', service(nodePort, { resourceVersion: '1' }))],
  },
  { name: 'an update of what does not exist', steps: [replace('services', 'web', service(clusterIP))] },
  {
    name: 'an update under another name',
    steps: [created, replace('services', 'web', service(nodePort, { name: 'other' }))],
  },
  {
    name: 'an update with another uid',
    steps: [created, replace('services', 'web', service(nodePort, { uid: '00000000-0000-0000-0000-000000000000' }))],
  },
  { name: 'an update that changes nothing', steps: [created, replace('services', 'web', service(nodePort))] },
  {
    name: 'an update of the spec leaves the status alone',
    steps: [
      created,
      replace('services', 'web', {
        ...service(nodePort),
        status: { loadBalancer: { ingress: [{ ip: '203.0.113.1' }] } },
      }),
    ],
  },
  {
    name: 'a status with addresses of a load balancer',
    steps: [
      create('services', service(loadBalancer)),
      patch('merge', 'services', 'web/status', {
        status: { loadBalancer: { ingress: [{ ip: '203.0.113.1' }, { ip: '203.0.113.2', ipMode: 'Proxy' }] } },
      }),
      get('services', 'web/status'),
    ],
  },
  {
    name: 'a status with a host name and its ports',
    steps: [
      create('services', service(loadBalancer)),
      patch('merge', 'services', 'web/status', {
        status: { loadBalancer: { ingress: [{ hostname: 'lb.example.com', ports: [{ port: 80, protocol: 'TCP' }] }] } },
      }),
    ],
  },
  {
    name: 'a status that also changes the spec',
    steps: [
      create('services', service(loadBalancer)),
      replace('services', 'web/status', {
        ...service({ ...loadBalancer, ports: [{ port: 81 }] }),
        status: { loadBalancer: { ingress: [{ ip: '203.0.113.1' }] } },
      }),
    ],
  },
  {
    name: 'a status with a bad address',
    steps: [
      create('services', service(loadBalancer)),
      patch('merge', 'services', 'web/status', { status: { loadBalancer: { ingress: [{ ip: 'nonsense' }] } } }),
    ],
  },
  {
    name: 'a status with an unknown ipMode',
    steps: [
      create('services', service(loadBalancer)),
      patch('merge', 'services', 'web/status', {
        status: { loadBalancer: { ingress: [{ ip: '203.0.113.1', ipMode: 'Magic' }] } },
      }),
    ],
  },
  {
    name: 'a load balancer status on a ClusterIP Service',
    steps: [
      create('services', service(clusterIP)),
      patch('merge', 'services', 'web/status', { status: { loadBalancer: { ingress: [{ ip: '203.0.113.1' }] } } }),
    ],
  },
  {
    name: 'a Service that takes the cluster IP of another',
    steps: [
      create('services', service({ ...clusterIP, clusterIP: '10.96.41.9' })),
      create('services', service({ ...clusterIP, clusterIP: '10.96.41.9' }, { name: 'other' })),
    ],
  },
  {
    name: 'a Service that takes the node port of another',
    steps: [created, create('services', service(nodePort, { name: 'other' }))],
  },
  {
    name: 'a Service that takes the node port of another with another protocol',
    steps: [
      created,
      create(
        'services',
        service({ type: 'NodePort', ports: [{ port: 80, protocol: 'UDP', nodePort: 30801 }] }, { name: 'other' }),
      ),
    ],
  },
  {
    name: 'a cluster IP and a node port are free again after a deletion',
    steps: [
      create('services', service({ ...nodePort, clusterIP: '10.96.41.8' })),
      remove('services', 'web'),
      create('services', service({ ...nodePort, clusterIP: '10.96.41.8' }, { name: 'other' })),
    ],
  },
  { name: 'a deletion', steps: [created, remove('services', 'web'), get('services', 'web')] },
  { name: 'a deletion of what does not exist', steps: [remove('services', 'web')] },
  {
    name: 'a deletion of another uid',
    steps: [
      created,
      remove('services', 'web', {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        preconditions: { uid: '00000000-0000-0000-0000-000000000000' },
      }),
    ],
  },
  {
    name: 'a deletion of all that have a label',
    steps: [
      create('services', service(clusterIP, { labels: { app: 'web' } })),
      create('services', service(clusterIP, { name: 'other' })),
      { method: 'DELETE', path: path('services', '?labelSelector=app%3Dweb') },
      get('services', 'web'),
      get('services', 'other'),
    ],
  },
  {
    name: 'a trial deletion',
    steps: [created, remove('services', 'web?dryRun=All'), get('services', 'web')],
  },
  {
    name: 'a deletion that waits for a finalizer',
    steps: [
      create('services', service(clusterIP, { finalizers: ['example.com/wait'] })),
      remove('services', 'web'),
      get('services', 'web'),
      patch('merge', 'services', 'web', { metadata: { finalizers: null } }),
      get('services', 'web'),
    ],
  },
]
