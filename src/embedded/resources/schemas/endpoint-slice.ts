import { atomicList, boolean, field, int32, atomicMap, object, pointer, setList, string } from '../schema.ts'
import { kindSchema, objectReference } from './metadata.ts'

const endpointConditions = object('io.k8s.api.discovery.v1.EndpointConditions', 'Condition of an endpoint.', {
  ready: boolean('May take traffic. Unknown counts as true.'),
  serving: boolean('Can take traffic, even while it terminates.'),
  terminating: boolean('Is going away.'),
})

const forZone = object(
  'io.k8s.api.discovery.v1.ForZone',
  'A zone that should use the endpoint.',
  { name: string('Name of the zone.') },
  ['name'],
)

const forNode = object(
  'io.k8s.api.discovery.v1.ForNode',
  'A node that should use the endpoint.',
  { name: string('Name of the node.') },
  ['name'],
)

const endpointHints = object('io.k8s.api.discovery.v1.EndpointHints', 'Who should use the endpoint.', {
  forZones: atomicList('Zones, at most 8.', forZone),
  forNodes: atomicList('Nodes, at most 8.', forNode),
})

const endpoint = object(
  'io.k8s.api.discovery.v1.Endpoint',
  'One backend of a Service.',
  {
    addresses: setList(
      'Addresses of the endpoint, of the type of the slice. Clients use the first.',
      string(''),
      'replace',
    ),
    conditions: field(endpointConditions, 'Condition of the endpoint.'),
    hostname: string('Host name of the endpoint, a DNS label.'),
    targetRef: pointer(objectReference, 'The object behind the endpoint.'),
    deprecatedTopology: atomicMap('Topology of the v1beta1 API; read-only.'),
    nodeName: string('The node that runs the endpoint.'),
    zone: string('The zone of the endpoint.'),
    hints: pointer(endpointHints, 'Who should use the endpoint.'),
  },
  ['addresses'],
)

const endpointPort = object('io.k8s.api.discovery.v1.EndpointPort', 'A port that all endpoints of the slice have.', {
  name: string('Name of the Service port it belongs to. Default: empty.'),
  protocol: string('TCP, UDP or SCTP. Default: TCP.'),
  port: int32('The port number; none means all ports.'),
  appProtocol: string('The application protocol.'),
})

export const endpointSliceSchema = kindSchema({
  name: 'io.k8s.api.discovery.v1.EndpointSlice',
  group: 'discovery.k8s.io',
  version: 'v1',
  kind: 'EndpointSlice',
  description: 'A part of the endpoints of a Service. The label kubernetes.io/service-name says which Service.',
  fields: {
    addressType: string('IPv4, IPv6 or FQDN. It cannot be changed.'),
    endpoints: atomicList('The endpoints, at most 1000.', endpoint),
    ports: atomicList('The ports, at most 20000.', endpointPort),
  },
  required: ['addressType', 'endpoints'],
})
