import { atomicList, int32, object, pointer, string } from '../schema.ts'
import { kindSchema, objectReference } from './metadata.ts'

const endpointAddress = object(
  'io.k8s.api.core.v1.EndpointAddress',
  'One address.',
  {
    ip: string('The address. Loopback, link-local and multicast are refused.'),
    hostname: string('Host name of the endpoint.'),
    nodeName: string('The node that runs the endpoint.'),
    targetRef: pointer(objectReference, 'The object behind the endpoint.'),
  },
  ['ip'],
)

const endpointPort = object(
  'io.k8s.api.core.v1.EndpointPort',
  'One port.',
  {
    name: string('Name of the port; required when there is more than one.'),
    port: int32('The port number.'),
    protocol: string('TCP, UDP or SCTP. Default: TCP.'),
    appProtocol: string('The application protocol.'),
  },
  ['port'],
)

const endpointSubset = object('io.k8s.api.core.v1.EndpointSubset', 'Addresses that share their ports.', {
  addresses: atomicList('Addresses that are ready.', endpointAddress),
  notReadyAddresses: atomicList('Addresses that are not ready.', endpointAddress),
  ports: atomicList('The ports.', endpointPort),
})

export const endpointsSchema = kindSchema({
  name: 'io.k8s.api.core.v1.Endpoints',
  group: '',
  version: 'v1',
  kind: 'Endpoints',
  description: 'All endpoints of a Service in one object. Deprecated: use EndpointSlice.',
  fields: { subsets: atomicList('The endpoints, in groups that share ports.', endpointSubset) },
})
