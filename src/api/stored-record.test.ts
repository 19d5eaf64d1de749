import { describe, expect, test } from 'vitest'
import { rawNode, rawService, rawSlice, record } from '../core/testing/objects.ts'
import type { ObjectRecord } from './records.ts'
import { readStoredRecord } from './stored-record.ts'

const fullService = record(
  'Service',
  rawService(
    'demo/web',
    {
      type: 'LoadBalancer',
      clusterIP: '10.96.0.1',
      clusterIPs: ['10.96.0.1', 'fd00::1'],
      ipFamilies: ['IPv4', 'IPv6'],
      ports: [{ name: 'http', port: 80, nodePort: 30_080 }],
      externalIPs: ['192.0.2.1', '2001:db8::1'],
      loadBalancerSourceRanges: ['10.0.0.0/8', 'fd00::/16', 'x'],
      sessionAffinity: 'ClientIP',
      externalTrafficPolicy: 'Local',
      internalTrafficPolicy: 'Local',
      healthCheckNodePort: 31_000,
    },
    { loadBalancer: { ingress: [{ ip: '203.0.113.1' }, { ip: '203.0.113.2', ipMode: 'Proxy' }] } },
    {
      resourceVersion: '7',
      creationTimestamp: '2026-01-02T03:04:05Z',
      annotations: {
        'fairlead.dev/proxy-protocol': 'v2',
        'fairlead.dev/client-address': 'transparent',
        'fairlead.dev/socket-balancing': 'off',
        'fairlead.dev/algorithm': 'round-robin',
        'fairlead.dev/ipvs-scheduler': 'lblc',
        'fairlead.dev/weights': 'ip:10.0.0.1=3, zone:a=0, *=2',
        'fairlead.dev/slow-start': '30s',
        'fairlead.dev/max-connection-age': '10m',
        'fairlead.dev/max-connections': '100',
        'fairlead.dev/max-connections-per-endpoint': '10',
        'fairlead.dev/max-dials-per-second': '50',
        'fairlead.dev/max-dials-per-second-per-endpoint': '5',
        'fairlead.dev/health-check': 'http:/ready',
        'preserve-destination': 'true',
        winProxyOptimization: 'disabled',
      },
    },
  ),
)
const plainService = record('Service', rawService('demo/plain', { clusterIP: 'None' }))
const fullSlice = record(
  'EndpointSlice',
  rawSlice(
    'demo/web-1',
    'web',
    [
      {
        addresses: ['10.0.0.1'],
        nodeName: 'here',
        zone: 'a',
        conditions: { ready: false, serving: true, terminating: true },
        hints: { forZones: [{ name: 'a' }], forNodes: [{ name: 'here' }] },
      },
    ],
    [{ name: 'http', port: 8080 }],
    {
      metadata: {
        namespace: 'demo',
        name: 'web-1',
        annotations: {
          'endpoints.kubernetes.io/last-change-trigger-time': '2026-01-02T03:04:05Z',
          'fairlead.dev/weights': 'node:here=3',
        },
      },
    },
  ),
)
const plainSlice = record('EndpointSlice', rawSlice('demo/web-2', 'web', ['fd00::2']))
const fullNode = record(
  'Node',
  rawNode('here', {
    metadata: { name: 'here', labels: { 'topology.kubernetes.io/zone': 'a' }, deletionTimestamp: 'now' },
    spec: { podCIDRs: ['10.1.0.0/16'], taints: [{ key: 'full' }] },
    status: { addresses: ['10.0.0.1', '10.0.0.2'].map((address) => ({ type: 'InternalIP', address })) },
  }),
)
const plainNode = record('Node', rawNode('there'))
const ranges = record('ServiceCIDR', { metadata: { name: 'kubernetes' }, spec: { cidrs: ['10.96.0.0/12'] } })
const namespace = record('Namespace', {
  metadata: {
    name: 'shop',
    annotations: { 'fairlead.dev/external-ip-guard': 'deny', 'fairlead.dev/external-ip-cidrs': '192.0.2.0/24' },
  },
})

test.each<[string, ObjectRecord]>([
  ['a Service with everything', fullService],
  ['a Service with nothing', plainService],
  ['a slice with everything', fullSlice],
  ['a slice with an address only', plainSlice],
  ['a Node with everything', fullNode],
  ['a Node with nothing', plainNode],
  ['a ServiceCIDR', ranges],
  ['a Namespace with everything', namespace],
  ['a Namespace with nothing', record('Namespace', { metadata: { name: 'plain' } })],
])('%s comes back as it was', (_, written) => {
  expect(reread(written)).toStrictEqual({ ok: true, record: written })
})

test('fields that nobody knows, or knows any more, do not come along', () => {
  expect(reread({ ...plainService, extra: 1 })).toStrictEqual({ ok: true, record: plainService })
  for (const record of [fullService, fullSlice, fullNode, ranges])
    expect(reread({ ...record, resourceVersion: '7' })).toStrictEqual({ ok: true, record })
})

/** The record of `base` with another value in one field. */
function withField(base: object, path: string, value: unknown): unknown {
  const copy = JSON.parse(JSON.stringify(base)) as Record<string, unknown>
  const names = path.split(/[.[\]]+/).filter((name) => name !== '')
  const last = names.pop() ?? ''
  const parent = names.reduce((at, name) => at[name] as Record<string, unknown>, copy)
  parent[last] = value
  return copy
}

function reread(stored: unknown) {
  return readStoredRecord(JSON.parse(JSON.stringify(stored)))
}

const line = 'x\n-A INPUT -j ACCEPT'

describe('a record that no object could have become is refused with the place:', () => {
  const refused: [object, string, readonly unknown[], place?: string][] = [
    [fullService, 'kind', ['Pod', 1, undefined]],
    [fullService, 'namespace', ['', line, 7, undefined, 'x'.repeat(254)]],
    [fullService, 'name', ['', line, 7, undefined]],
    [fullService, 'createdAtMs', ['x', -1, 0.5, 8.64e15 + 1, null]],
    [fullService, 'type', ['', 'Else', undefined]],
    [fullService, 'clusterIPs', [undefined, [], 'x']],
    [fullService, 'clusterIPs.ipv4', ['fd00::1', '010.0.0.1', line, '0.0.0.0', '169.254.0.1', 7]],
    [fullService, 'clusterIPs.ipv6', ['10.0.0.1', 'FD00::1']],
    [fullService, 'clusterIPs.ipv5', ['10.0.0.1'], 'clusterIPs'],
    [fullService, 'ports', [undefined, {}]],
    [fullService, 'ports[0]', [1, null]],
    [fullService, 'ports[0].name', [7, undefined], 'name'],
    [fullService, 'ports[0].name', ['a b', 'x'.repeat(64)]],
    [fullService, 'ports[0].protocol', ['tcp', undefined], 'protocol'],
    [fullService, 'ports[0].port', [0, -1, 65_536, 1.5, '80', undefined], 'port'],
    [fullService, 'ports[0].nodePort', [-1, 65_536, '1'], 'nodePort'],
    [fullService, 'externalIPs', [undefined, 'x']],
    [fullService, 'externalIPs[1]', [line, '010.0.0.1', '127.0.0.1', '::', 'ff02::1', 7]],
    [fullService, 'loadBalancerIPs[0]', [line, '127.0.0.1', 7]],
    [fullService, 'sourceRanges[0]', ['10.0.0.0/8', null]],
    [fullService, 'sourceRanges[0].network', ['10.0.0.1', line, 7], 'sourceRanges[0]'],
    [fullService, 'sourceRanges[0].prefixLength', [33, -1, '8 -j X', undefined], 'sourceRanges[0]'],
    [fullService, 'affinitySeconds', [-1, 86_401, 0.5, '1', undefined]],
    [fullService, 'externalTrafficPolicy', ['', 'local', undefined]],
    [fullService, 'internalTrafficPolicy', ['', undefined]],
    [fullService, 'healthCheckNodePort', [-1, 65_536, undefined]],
    [fullService, 'relaying', [null, 'x']],
    [fullService, 'relaying.proxyProtocol', ['none', 'v3'], 'proxyProtocol'],
    [fullService, 'relaying.clientAddress', ['auto', 7], 'clientAddress'],
    [fullService, 'sockets', [null, 'x']],
    [fullService, 'sockets.balancing', ['on', true], 'balancing'],
    [fullService, 'traffic', [null, 'x']],
    [fullService, 'traffic.algorithm', ['fastest', 7], 'algorithm'],
    [fullService, 'traffic.ipvsScheduler', ['fo', 7], 'ipvsScheduler'],
    [fullService, 'traffic.weights', [{}], 'weights'],
    [fullService, 'traffic.weights[0].name', ['10.0.0.01', 'a'], 'weights[0].name'],
    [fullService, 'traffic.weights[0].of', ['pod', 7], 'of'],
    [fullService, 'traffic.weights[0].weight', [1001, -1, '1'], 'weight'],
    [fullService, 'traffic.maxConnections', [0, '7'], 'maxConnections'],
    [fullService, 'traffic.healthCheck.kind', ['icmp'], 'kind'],
    [fullService, 'traffic.healthCheck.path', ['x y'], 'healthCheck.path'],
    [fullService, 'windows', [null, 'x']],
    [fullService, 'windows.preservesDestination', [false, 'true'], 'preservesDestination'],
    [fullService, 'windows.rebuilds', [false, 1], 'rebuilds'],
    [namespace, 'name', [line]],
    [namespace, 'externalIPGuard', ['refuse', 7, '']],
    [namespace, 'externalIPCidrs', ['192.0.2.0/24', {}]],
    [namespace, 'externalIPCidrs[0].network', ['192.0.2.1', line], 'externalIPCidrs[0]'],
    [fullSlice, 'namespace', [line]],
    [fullSlice, 'name', [line]],
    [fullSlice, 'serviceName', [line, undefined]],
    [fullSlice, 'family', ['ipv5', undefined]],
    [fullSlice, 'ports[0].port', [0], 'port'],
    [fullSlice, 'triggerTimeMs', ['x', -1, 8.64e15 + 1]],
    [fullSlice, 'endpoints[0]', [7, null]],
    [fullSlice, 'endpoints[0].ip', ['fd00::1', '0.0.0.0', line], 'ip'],
    [fullSlice, 'endpoints[0].nodeName', [line, 7], 'nodeName'],
    [fullSlice, 'endpoints[0].ready', ['yes', undefined], 'ready'],
    [fullSlice, 'endpoints[0].serving', [1], 'serving'],
    [fullSlice, 'endpoints[0].terminating', [null], 'terminating'],
    [fullSlice, 'endpoints[0].zone', [line, 1], 'zone'],
    [fullSlice, 'endpoints[0].zoneHints', ['a'], 'zoneHints'],
    [fullSlice, 'endpoints[0].zoneHints[0]', [line], 'zoneHints[0]'],
    [fullSlice, 'endpoints[0].nodeHints[0]', [7], 'nodeHints[0]'],
    [fullNode, 'name', [line]],
    [fullNode, 'ips[0]', ['x', '010.0.0.1', 7]],
    [fullNode, 'otherIps', ['10.0.0.2']],
    [fullNode, 'otherIps[0]', ['x']],
    [fullNode, 'podCIDRs[0]', ['x', '10.1.0.1/16', 7, line]],
    [fullNode, 'zone', [line, 7, undefined, 'x'.repeat(318), 'a\u007f', '\u0000']],
    [fullNode, 'isBeingDeleted', ['no']],
    [fullNode, 'taintKeys[0]', [line]],
    [ranges, 'name', [line]],
    [ranges, 'cidrs', ['10.0.0.0/8']],
    [ranges, 'cidrs[0]', ['10.0.0.0/8']],
  ]

  test.each(refused.map(([base, path, values, place = path]) => ({ base, path, values, place })))(
    '$path of a $base.kind',
    ({ base, path, values, place }) => {
      for (const value of values) {
        const read = reread(withField(base, path, value))
        expect(read.ok ? value : read.reason).toMatch(new RegExp(`^${place.replaceAll(/[[\]]/g, '\\$&')} cannot be `))
      }
    },
  )

  test('something that is no object', () => {
    for (const stored of [null, 7, 'x', [], [fullService]])
      expect(readStoredRecord(stored)).toEqual({ ok: false, reason: expect.stringMatching(/^the record cannot be /) })
  })
})

const furthest: [object, string, readonly unknown[]][] = [
  [fullService, 'name', ['a', 'x'.repeat(253)]],
  [fullNode, 'zone', ['', 'x'.repeat(317)]],
  [fullService, 'createdAtMs', [0, 8.64e15]],
  [fullService, 'ports[0].port', [1, 65_535]],
  [fullService, 'ports[0].nodePort', [0, 65_535]],
  [fullService, 'affinitySeconds', [0, 1, 86_400]],
  [fullService, 'healthCheckNodePort', [0, 65_535]],
  [fullService, 'clusterIPs.ipv4', ['127.0.0.1']],
  [fullService, 'relaying', [{}, { proxyProtocol: 'v1' }]],
  [fullService, 'traffic', [{}, { algorithm: 'maglev' }, { healthCheck: { kind: 'tcp' } }]],
  [fullService, 'sockets', [{}, { balancing: 'off' }]],
  [fullService, 'windows', [{}, { preservesDestination: true }, { rebuilds: true }]],
  [fullSlice, 'triggerTimeMs', [0, 8.64e15]],
]

test.each(furthest.map(([base, path, values]) => ({ base, path, values })))(
  '$path of a $base.kind may be $values',
  ({ base, path, values }) => {
    for (const value of values) {
      const stored = withField(base, path, value)
      expect(readStoredRecord(stored)).toEqual({ ok: true, record: stored })
    }
  },
)

test('any word about an unreadable source range closes the load balancer', () => {
  for (const word of [true, false, 'no', null])
    expect(readStoredRecord(withField(fullService, 'hasUnreadableSourceRange', word))).toMatchObject({
      record: { hasUnreadableSourceRange: true },
    })
  expect(fullService.hasUnreadableSourceRange).toBe(true)
})
