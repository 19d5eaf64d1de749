import { create, get, patch, remove, replace } from './scenario.ts'
import type { JsonObject, Scenario } from './scenario.ts'

function node(fields: JsonObject = {}, metadata: JsonObject = {}): JsonObject {
  return { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-a', ...metadata }, ...fields }
}

function serviceCidr(cidrs: readonly string[]): JsonObject {
  return { apiVersion: 'networking.k8s.io/v1', kind: 'ServiceCIDR', metadata: { name: 'more' }, spec: { cidrs } }
}

function endpoints(subsets: readonly JsonObject[]): JsonObject {
  return { apiVersion: 'v1', kind: 'Endpoints', metadata: { name: 'web' }, subsets }
}

function namespaceNamed(name: string): JsonObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }
}

const event: JsonObject = {
  apiVersion: 'events.k8s.io/v1',
  kind: 'Event',
  metadata: { name: 'node-a.1', namespace: 'demo' },
  eventTime: '2026-01-01T00:00:00.000000Z',
  type: 'Normal',
  reason: 'Starting',
  action: 'StartKubeProxy',
  note: 'started',
  reportingController: 'kube-proxy',
  reportingInstance: 'node-a',
  regarding: { kind: 'Node', name: 'node-a', namespace: 'demo' },
}

export const otherKindScenarios: readonly Scenario[] = [
  { name: 'a Node with nothing but a name', steps: [create('nodes', node()), get('nodes', 'node-a')] },
  {
    name: 'a Node with pod CIDRs, taints and labels',
    steps: [
      create(
        'nodes',
        node(
          {
            spec: {
              podCIDR: '10.64.0.0/24',
              podCIDRs: ['10.64.0.0/24', 'fd00:64::/64'],
              providerID: 'test://node-a',
              unschedulable: true,
              taints: [{ key: 'ToBeDeletedByClusterAutoscaler', value: '1', effect: 'NoSchedule' }],
            },
          },
          { labels: { 'topology.kubernetes.io/zone': 'zone-a' } },
        ),
      ),
    ],
  },
  { name: 'a Node with one pod CIDR', steps: [create('nodes', node({ spec: { podCIDR: '10.64.0.0/24' } }))] },
  { name: 'a Node with a bad pod CIDR', steps: [create('nodes', node({ spec: { podCIDR: 'nonsense' } }))] },
  {
    name: 'a Node whose addresses are set',
    differs: 'the real server does not record who set the addresses',
    steps: [
      create('nodes', node()),
      patch('merge', 'nodes', 'node-a/status', {
        status: { addresses: [{ type: 'InternalIP', address: '192.0.2.1' }] },
      }),
      get('nodes', 'node-a'),
    ],
  },
  {
    name: 'a Node that is created with its addresses',
    steps: [create('nodes', node({ status: { addresses: [{ type: 'InternalIP', address: '192.0.2.1' }] } }))],
  },
  {
    name: 'a Node whose pod CIDR changes',
    steps: [
      create('nodes', node({ spec: { podCIDR: '10.64.0.0/24' } })),
      patch('merge', 'nodes', 'node-a', { spec: { podCIDR: '10.64.1.0/24', podCIDRs: ['10.64.1.0/24'] } }),
    ],
  },

  {
    name: 'Endpoints with two addresses',
    steps: [
      create(
        'endpoints',
        endpoints([
          { addresses: [{ ip: '10.64.0.2' }, { ip: '10.64.0.1', nodeName: 'node-a' }], ports: [{ port: 8080 }] },
        ]),
      ),
      get('endpoints', 'web'),
    ],
  },
  {
    name: 'Endpoints with a bad address',
    differs: 'the real server reports it twice',
    steps: [create('endpoints', endpoints([{ addresses: [{ ip: 'nonsense' }], ports: [{ port: 8080 }] }]))],
  },
  { name: 'Endpoints without addresses', steps: [create('endpoints', endpoints([{ ports: [{ port: 8080 }] }]))] },

  {
    name: 'an update of Endpoints that do not exist',
    steps: [replace('endpoints', 'web', endpoints([]))],
  },
  {
    name: 'a deletion of Endpoints',
    steps: [create('endpoints', endpoints([])), remove('endpoints', 'web')],
  },
  { name: 'an update of a Node that does not exist', steps: [replace('nodes', 'node-a', node())] },
  { name: 'a deletion of a Node', steps: [create('nodes', node()), remove('nodes', 'node-a')] },

  { name: 'an Event', steps: [create('events', event), get('events', 'node-a.1')] },
  {
    name: 'an Event that becomes a series',
    steps: [
      create('events', event),
      patch('strategic', 'events', 'node-a.1', {
        series: { count: 2, lastObservedTime: '2026-01-01T00:01:00.000000Z' },
      }),
    ],
  },
  {
    name: 'an Event without a reason',
    steps: [create('events', { ...event, reason: '' })],
  },
  {
    name: 'an Event without a time',
    steps: [create('events', Object.fromEntries(Object.entries(event).filter(([field]) => field !== 'eventTime')))],
  },

  { name: 'a deletion of an Event', steps: [create('events', event), remove('events', 'node-a.1')] },

  { name: 'a ServiceCIDR', steps: [create('servicecidrs', serviceCidr(['10.97.0.0/24']))] },
  {
    name: 'a ServiceCIDR of both families',
    steps: [create('servicecidrs', serviceCidr(['10.97.0.0/24', 'fd00:10:97::/112']))],
  },
  { name: 'a ServiceCIDR with nonsense', steps: [create('servicecidrs', serviceCidr(['nonsense']))] },
  { name: 'a ServiceCIDR with host bits', steps: [create('servicecidrs', serviceCidr(['10.97.0.1/24']))] },
  {
    name: 'a ServiceCIDR with two of one family',
    steps: [create('servicecidrs', serviceCidr(['10.97.0.0/24', '10.98.0.0/24']))],
  },
  { name: 'a ServiceCIDR without CIDRs', steps: [create('servicecidrs', serviceCidr([]))] },
  {
    name: 'a ServiceCIDR that changes',
    steps: [
      create('servicecidrs', serviceCidr(['10.97.0.0/24'])),
      replace('servicecidrs', 'more', serviceCidr(['10.98.0.0/24'])),
    ],
  },

  {
    name: 'a Namespace',
    differs: 'nobody is there to remove the finalizer',
    steps: [create('namespaces', namespaceNamed('fresh')), get('namespaces', 'fresh')],
  },
  { name: 'a Namespace with a bad name', steps: [create('namespaces', namespaceNamed('a.b'))] },
  { name: 'a Namespace that exists', steps: [create('namespaces', namespaceNamed('default'))] },
  { name: 'a Namespace that does not exist', steps: [remove('namespaces', 'nowhere')] },
  { name: 'the default Namespace may not be deleted', steps: [remove('namespaces', 'default')] },
]
