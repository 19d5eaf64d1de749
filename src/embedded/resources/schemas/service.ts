import {
  atomicList,
  boolean,
  field,
  int32,
  keyedList,
  atomicMap,
  object,
  pointer,
  string,
  zeroIsAbsent,
} from '../schema.ts'
import { condition, kindSchema } from './metadata.ts'

const servicePort = object(
  'io.k8s.api.core.v1.ServicePort',
  'One port of a Service.',
  {
    name: string('Unique within the Service; a DNS label. May be empty when there is only one port.'),
    protocol: string('TCP, UDP or SCTP. Default: TCP.'),
    appProtocol: string('The application protocol, as a hint for implementations.'),
    port: int32('The port that clients of the Service use.'),
    targetPort: {
      type: 'int-or-string',
      description: 'Number or name of the port on the pods. Default: the value of port.',
    },
    nodePort: zeroIsAbsent(
      int32('The port on every node, for type NodePort and LoadBalancer. Usually the server picks it.'),
    ),
  },
  ['port'],
)

const clientIPConfig = object('io.k8s.api.core.v1.ClientIPConfig', 'How long a client sticks to an endpoint.', {
  timeoutSeconds: int32('Seconds of stickiness, from 1 to 86400. Default: 10800 (3 hours).'),
})

const sessionAffinityConfig = object('io.k8s.api.core.v1.SessionAffinityConfig', 'Settings of the session affinity.', {
  clientIP: pointer(clientIPConfig, 'Settings of client-IP affinity.'),
})

const serviceSpec = object('io.k8s.api.core.v1.ServiceSpec', 'What a user wants of a Service.', {
  ports: keyedList('The ports that this Service exposes.', servicePort, ['port', 'protocol'], {
    keyDefaults: { protocol: 'TCP' },
    mergeKey: 'port',
  }),
  selector: atomicMap('Traffic goes to the pods whose labels match. Without it, endpoints are managed by others.'),
  clusterIP: string('The virtual address, "None" for a headless Service. Usually the server picks it.'),
  clusterIPs: atomicList('The virtual addresses, at most one per family. The first one equals clusterIP.', string('')),
  type: string('ClusterIP (default), NodePort, LoadBalancer or ExternalName.'),
  externalIPs: atomicList('Addresses whose traffic the nodes accept for this Service, managed by others.', string('')),
  sessionAffinity: string('ClientIP or None. Default: None.'),
  loadBalancerIP: string('Deprecated: the address to ask of the load balancer.'),
  loadBalancerSourceRanges: atomicList('Client ranges that the load balancer may let in.', string('')),
  externalName: string('The DNS name that an ExternalName Service stands for.'),
  externalTrafficPolicy: string('Cluster or Local: which endpoints serve traffic from outside.'),
  healthCheckNodePort: zeroIsAbsent(int32('The health check port of a LoadBalancer with externalTrafficPolicy Local.')),
  publishNotReadyAddresses: zeroIsAbsent(boolean('True: endpoints count as ready whatever their pods say.')),
  sessionAffinityConfig: pointer(sessionAffinityConfig, 'Settings of the session affinity.'),
  ipFamilies: atomicList('IPv4 and IPv6, in the order of clusterIPs.', string('')),
  ipFamilyPolicy: string('SingleStack, PreferDualStack or RequireDualStack.'),
  allocateLoadBalancerNodePorts: boolean('False: a LoadBalancer gets no node ports. Default: true.'),
  loadBalancerClass: string('Which implementation makes the load balancer, as a prefixed label.'),
  internalTrafficPolicy: string('Cluster or Local: which endpoints serve traffic from inside. Default: Cluster.'),
  trafficDistribution: string('A preference for near endpoints: PreferSameZone, PreferSameNode or PreferClose.'),
})

const portStatus = object(
  'io.k8s.api.core.v1.PortStatus',
  'What became of one port at the load balancer.',
  {
    port: int32('Port of the Service.'),
    protocol: string('TCP, UDP or SCTP.'),
    error: string('What went wrong, if anything.'),
  },
  ['port', 'protocol'],
)

const loadBalancerIngress = object('io.k8s.api.core.v1.LoadBalancerIngress', 'One point of entry.', {
  ip: string('Its address.'),
  hostname: string('Its host name.'),
  ipMode: string('VIP (default): nodes see the address as destination. Proxy: the load balancer delivers to nodes.'),
  ports: atomicList('State of the ports.', portStatus),
})

const loadBalancerStatus = object('io.k8s.api.core.v1.LoadBalancerStatus', 'State of a load balancer.', {
  ingress: atomicList('Where traffic can enter.', loadBalancerIngress),
})

const serviceStatus = object('io.k8s.api.core.v1.ServiceStatus', 'The current state of a Service.', {
  loadBalancer: field(loadBalancerStatus, 'State of the load balancer, if there is one.'),
  conditions: keyedList('Current state of the Service.', condition, ['type']),
})

export const serviceSchema = kindSchema({
  name: 'io.k8s.api.core.v1.Service',
  group: '',
  version: 'v1',
  kind: 'Service',
  description: 'A name and a stable address for a set of endpoints, found by a selector.',
  fields: {
    spec: field(serviceSpec, 'What is wanted.'),
    status: field(serviceStatus, 'What is. Only the system writes it.'),
  },
})
