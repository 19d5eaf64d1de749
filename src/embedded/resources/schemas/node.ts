import {
  atomicList,
  boolean,
  field,
  int32,
  int64,
  keyedList,
  map,
  object,
  setList,
  string,
  time,
  zeroIsAbsent,
} from '../schema.ts'
import { kindSchema } from './metadata.ts'

const quantity = { type: 'quantity', description: 'An amount, such as 2, 100m or 4Gi.' } as const

const taint = object(
  'io.k8s.api.core.v1.Taint',
  'Keeps pods away that do not tolerate it.',
  {
    key: string('Key of the taint.'),
    value: string('Value of the taint.'),
    effect: string('NoSchedule, PreferNoSchedule or NoExecute.'),
    timeAdded: time('When the taint was added.'),
  },
  ['key', 'effect'],
)

const nodeSpec = object('io.k8s.api.core.v1.NodeSpec', 'What is wanted of a node.', {
  podCIDR: string('The range of the pods of this node.'),
  podCIDRs: setList('The ranges of the pods, at most one per family. The first equals podCIDR.', string('')),
  providerID: string('The name of the node at its cloud provider.'),
  unschedulable: zeroIsAbsent(boolean('True: no new pods.')),
  taints: atomicList('Taints of the node.', taint),
  externalID: string('Deprecated.'),
})

const nodeAddress = object(
  'io.k8s.api.core.v1.NodeAddress',
  'One address of a node.',
  {
    type: string('Hostname, InternalIP, ExternalIP, InternalDNS or ExternalDNS.'),
    address: string('The address.'),
  },
  ['type', 'address'],
)

const nodeCondition = object(
  'io.k8s.api.core.v1.NodeCondition',
  'One aspect of the state of a node.',
  {
    type: string('What the condition is about, such as Ready.'),
    status: string('True, False or Unknown.'),
    lastHeartbeatTime: time('When it was last reported.'),
    lastTransitionTime: time('When the status last changed.'),
    reason: string('Why, in one CamelCase word.'),
    message: string('Why, for a person.'),
  },
  ['type', 'status'],
)

const daemonEndpoint = object(
  'io.k8s.api.core.v1.DaemonEndpoint',
  'Where a daemon listens.',
  { Port: int32('Port of the daemon.') },
  ['Port'],
)

const nodeDaemonEndpoints = object('io.k8s.api.core.v1.NodeDaemonEndpoints', 'Where the daemons of a node listen.', {
  kubeletEndpoint: field(daemonEndpoint, 'Where the kubelet listens.'),
})

export const systemInfoFields = [
  'machineID',
  'systemUUID',
  'bootID',
  'kernelVersion',
  'osImage',
  'containerRuntimeVersion',
  'kubeletVersion',
  'kubeProxyVersion',
  'operatingSystem',
  'architecture',
] as const

const nodeSystemInfo = object(
  'io.k8s.api.core.v1.NodeSystemInfo',
  'What the node runs.',
  Object.fromEntries(systemInfoFields.map((name) => [name, string(`The ${name} that the node reports.`)])),
)

const containerImage = object('io.k8s.api.core.v1.ContainerImage', 'A container image on the node.', {
  names: atomicList('Names of the image.', string('')),
  sizeBytes: int64('Size of the image.'),
})

const nodeStatus = object('io.k8s.api.core.v1.NodeStatus', 'The current state of a node.', {
  capacity: map('All resources of the node.', quantity),
  allocatable: map('Resources that pods may use. Default: the capacity.', quantity),
  phase: string('Deprecated.'),
  conditions: keyedList('Current state of the node.', nodeCondition, ['type']),
  addresses: keyedList('Addresses of the node.', nodeAddress, ['type'], {}),
  daemonEndpoints: field(nodeDaemonEndpoints, 'Where the daemons of the node listen.'),
  nodeInfo: field(nodeSystemInfo, 'What the node runs.'),
  images: atomicList('Container images on the node.', containerImage),
})

export const nodeSchema = kindSchema({
  name: 'io.k8s.api.core.v1.Node',
  group: '',
  version: 'v1',
  kind: 'Node',
  description: 'A machine of the cluster.',
  fields: {
    spec: field(nodeSpec, 'What is wanted.'),
    status: field(nodeStatus, 'What is. Only the system writes it.'),
  },
})
