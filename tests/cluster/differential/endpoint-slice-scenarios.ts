import { create, endpointSlice, get, patch, remove, replace } from './scenario.ts'
import type { JsonObject, Scenario } from './scenario.ts'

const endpoint = { addresses: ['10.64.0.1'] }
const ports = [{ name: 'http', port: 8080 }]

/** Each is a new EndpointSlice, without its metadata. */
const slices: Readonly<Record<string, JsonObject>> = {
  'a slice with one endpoint': { addressType: 'IPv4', endpoints: [endpoint], ports },
  'a slice with everything an endpoint can say': {
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080, protocol: 'UDP', appProtocol: 'example.com/x' }],
    endpoints: [
      {
        addresses: ['10.64.0.1'],
        conditions: { ready: true, serving: true, terminating: false },
        hostname: 'web-0',
        nodeName: 'node-a',
        zone: 'zone-a',
        targetRef: { kind: 'Pod', name: 'web-0', namespace: 'demo' },
        hints: { forZones: [{ name: 'zone-a' }], forNodes: [{ name: 'node-a' }] },
      },
    ],
  },
  'a slice with a port without name, protocol and number': { addressType: 'IPv4', endpoints: [endpoint], ports: [{}] },
  'a slice without ports': { addressType: 'IPv4', endpoints: [endpoint] },
  'a slice without endpoints': { addressType: 'IPv4', endpoints: [], ports },
  'a slice that does not mention endpoints': { addressType: 'IPv4', ports },
  'a slice without an address type': { endpoints: [endpoint], ports },
  'a slice with an unknown address type': { addressType: 'IPv5', endpoints: [endpoint], ports },
  'a slice of IPv6': { addressType: 'IPv6', endpoints: [{ addresses: ['fd00::1'] }], ports },
  'a slice of names': { addressType: 'FQDN', endpoints: [{ addresses: ['web.example.com'] }], ports },
  'a slice with an IPv4 address in IPv6': { addressType: 'IPv6', endpoints: [endpoint], ports },
  'a slice with a bad address': { addressType: 'IPv4', endpoints: [{ addresses: ['10.64.0.300'] }], ports },
  'a slice with an address that has leading zeros': {
    addressType: 'IPv4',
    endpoints: [{ addresses: ['010.064.000.001'] }],
    ports,
  },
  'a slice with a loopback address': { addressType: 'IPv4', endpoints: [{ addresses: ['127.0.0.1'] }], ports },
  'a slice with a link-local address': { addressType: 'IPv4', endpoints: [{ addresses: ['169.254.1.1'] }], ports },
  'a slice with the unspecified address': { addressType: 'IPv4', endpoints: [{ addresses: ['0.0.0.0'] }], ports },
  'a slice with a multicast address': { addressType: 'IPv4', endpoints: [{ addresses: ['224.0.0.5'] }], ports },
  'a slice with an endpoint without addresses': { addressType: 'IPv4', endpoints: [{ addresses: [] }], ports },
  'a slice with an endpoint of two addresses': {
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.64.0.1', '10.64.0.2'] }],
    ports,
  },
  'a slice with one address twice': { addressType: 'IPv4', endpoints: [endpoint, endpoint], ports },
  'a slice with 1001 endpoints': {
    addressType: 'IPv4',
    endpoints: Array.from({ length: 1001 }, (_, i) => ({ addresses: [`10.64.${i >> 8}.${i & 255}`] })),
    ports,
  },
  'a slice with two ports of one name': {
    addressType: 'IPv4',
    endpoints: [endpoint],
    ports: [
      { name: 'a', port: 1 },
      { name: 'a', port: 2 },
    ],
  },
  'a slice with one number under two names': {
    addressType: 'IPv4',
    endpoints: [endpoint],
    ports: [
      { name: 'a', port: 1 },
      { name: 'b', port: 1 },
    ],
  },
  'a slice with a bad port name': { addressType: 'IPv4', endpoints: [endpoint], ports: [{ name: 'A_', port: 1 }] },
  'a slice with port 0': { addressType: 'IPv4', endpoints: [endpoint], ports: [{ name: 'a', port: 0 }] },
  'a slice with port 65536': { addressType: 'IPv4', endpoints: [endpoint], ports: [{ name: 'a', port: 65536 }] },
  'a slice with an unknown protocol': {
    addressType: 'IPv4',
    endpoints: [endpoint],
    ports: [{ name: 'a', port: 1, protocol: 'QUIC' }],
  },
  'a slice with a bad host name': { addressType: 'IPv4', endpoints: [{ ...endpoint, hostname: 'A_' }], ports },
  'a slice with a bad node name': { addressType: 'IPv4', endpoints: [{ ...endpoint, nodeName: 'A_' }], ports },
  'a slice with a bad zone hint': {
    addressType: 'IPv4',
    endpoints: [{ ...endpoint, hints: { forZones: [{ name: '' }] } }],
    ports,
  },
  'a slice with a zone hint twice': {
    addressType: 'IPv4',
    endpoints: [{ ...endpoint, hints: { forZones: [{ name: 'a' }, { name: 'a' }] } }],
    ports,
  },
  'a slice with nine zone hints': {
    addressType: 'IPv4',
    endpoints: [{ ...endpoint, hints: { forZones: Array.from({ length: 9 }, (_, i) => ({ name: `zone-${i}` })) } }],
    ports,
  },
  'a slice with deprecated topology': {
    addressType: 'IPv4',
    endpoints: [{ ...endpoint, deprecatedTopology: { 'example.com/rack': 'a' } }],
    ports,
  },
}

/** Where the embedded server answers otherwise, and may. */
const differences: Readonly<Record<string, string>> = {
  'a slice with a loopback address': 'the demo has its endpoints on loopback addresses',
}

const created = create('endpointslices', endpointSlice({ addressType: 'IPv4', endpoints: [endpoint], ports }))

export const endpointSliceScenarios: readonly Scenario[] = [
  ...Object.entries(slices).map(([name, fields]) => ({
    name,
    ...(differences[name] === undefined ? {} : { differs: differences[name] }),
    steps: [create('endpointslices', endpointSlice(fields)), get('endpointslices', 'web-1')],
  })),
  {
    name: 'a slice whose address type changes',
    steps: [
      created,
      replace(
        'endpointslices',
        'web-1',
        endpointSlice({ addressType: 'IPv6', endpoints: [{ addresses: ['fd00::1'] }], ports }),
      ),
    ],
  },
  {
    name: 'a slice whose endpoints change',
    steps: [
      created,
      replace(
        'endpointslices',
        'web-1',
        endpointSlice({ addressType: 'IPv4', endpoints: [{ addresses: ['10.64.0.9'] }], ports }),
      ),
      get('endpointslices', 'web-1'),
    ],
  },
  {
    name: 'a slice whose labels change',
    steps: [created, patch('merge', 'endpointslices', 'web-1', { metadata: { labels: { a: 'b' } } })],
  },
  {
    name: 'a strategic patch of endpoints, which have no key',
    steps: [created, patch('strategic', 'endpointslices', 'web-1', { endpoints: [{ addresses: ['10.64.0.9'] }] })],
  },
  {
    name: 'an apply of endpoints, which belong together',
    steps: [
      patch(
        'apply',
        'endpointslices',
        'web-1?fieldManager=alice',
        endpointSlice({ addressType: 'IPv4', endpoints: [endpoint], ports }),
      ),
      patch(
        'apply',
        'endpointslices',
        'web-1?fieldManager=bob',
        endpointSlice({ addressType: 'IPv4', endpoints: [{ addresses: ['10.64.0.9'] }] }),
      ),
    ],
  },
  {
    name: 'a deletion of a slice',
    steps: [created, remove('endpointslices', 'web-1'), get('endpointslices', 'web-1')],
  },
  {
    name: 'an update of a slice that does not exist',
    steps: [replace('endpointslices', 'web-1', endpointSlice({ addressType: 'IPv4', endpoints: [endpoint], ports }))],
  },
  {
    name: 'a slice with a generated name',
    steps: [
      create('endpointslices', {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: { generateName: 'web-' },
        addressType: 'IPv4',
        endpoints: [],
      }),
    ],
  },
]
