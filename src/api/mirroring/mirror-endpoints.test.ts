import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../json-reader.ts'
import { keyOfSlice, mirrorEndpoints, whyNotMirrored } from './mirror-endpoints.ts'

const endpoints = (subsets: unknown, metadata: JsonObject = {}): JsonObject => ({
  apiVersion: 'v1',
  kind: 'Endpoints',
  metadata: { namespace: 'demo', name: 'db', uid: 'u1', ...metadata },
  subsets,
})

/** `IPv4 [http 80]: 10.0.0.1 10.0.0.2!`, where ! means not ready. */
function told(object: JsonObject): string[] {
  return mirrorEndpoints(object).slices.map(({ slice }) => {
    const ports = (slice['ports'] as { name: string; port: number }[]).map(({ name, port }) => `${name} ${port}`)
    const addresses = (slice['endpoints'] as { addresses: [string]; conditions: { ready: boolean } }[]).map(
      ({ addresses: [ip], conditions }) => (conditions.ready ? ip : `${ip}!`),
    )
    return `${String(slice['addressType'])} [${ports.join(', ')}]: ${addresses.join(' ')}`
  })
}

const http = { name: 'http', port: 80 }
const admin = { name: 'admin', port: 81 }

describe('an Endpoints object becomes', () => {
  test('a slice with its labels, annotations and owner, but not what belongs to it alone', () => {
    const object = endpoints(
      [{ addresses: [{ ip: '192.0.2.1', nodeName: 'n', hostname: 'h' }], ports: [{ port: 5432 }] }],
      {
        labels: { app: 'db', 'kubernetes.io/service-name': 'other' },
        annotations: {
          note: 'x',
          'kubectl.kubernetes.io/last-applied-configuration': '{}',
          'endpoints.kubernetes.io/last-change-trigger-time': '2026-01-01T00:00:00Z',
        },
      },
    )
    expect(mirrorEndpoints(object)).toEqual({
      problems: [],
      slices: [
        {
          key: 'IPv4 ["","TCP",5432,null]',
          slice: {
            apiVersion: 'discovery.k8s.io/v1',
            kind: 'EndpointSlice',
            metadata: {
              generateName: 'db-',
              namespace: 'demo',
              labels: {
                app: 'db',
                'kubernetes.io/service-name': 'db',
                'endpointslice.kubernetes.io/managed-by': 'endpointslicemirroring-controller.k8s.io',
              },
              annotations: { note: 'x' },
              ownerReferences: [
                {
                  apiVersion: 'v1',
                  kind: 'Endpoints',
                  name: 'db',
                  uid: 'u1',
                  controller: true,
                  blockOwnerDeletion: true,
                },
              ],
            },
            addressType: 'IPv4',
            endpoints: [{ addresses: ['192.0.2.1'], conditions: { ready: true }, nodeName: 'n', hostname: 'h' }],
            ports: [{ name: '', protocol: 'TCP', port: 5432 }],
          },
        },
      ],
    })
  })

  test('one slice for each address type', () => {
    const addresses = [{ ip: '192.0.2.1' }, { ip: 'fd00::1' }, { ip: '010.0.0.1' }]
    expect(told(endpoints([{ addresses, ports: [http] }]))).toEqual([
      'IPv4 [http 80]: 10.0.0.1 192.0.2.1',
      'IPv6 [http 80]: fd00::1',
    ])
  })

  test('one slice for each set of ports, whatever the subsets', () => {
    expect(
      told(
        endpoints([
          { addresses: [{ ip: '10.0.0.1' }, { ip: '10.0.0.2' }], ports: [http] },
          { addresses: [{ ip: '10.0.0.1' }, { ip: '10.0.0.2' }], ports: [admin] },
          { addresses: [{ ip: '10.0.0.3' }], ports: [http] },
          { addresses: [{ ip: '10.0.0.4' }], ports: [admin] },
        ]),
      ),
    ).toEqual(['IPv4 [admin 81]: 10.0.0.1 10.0.0.2 10.0.0.4', 'IPv4 [http 80]: 10.0.0.1 10.0.0.2 10.0.0.3'])
  })

  test('not ready where one subset says so', () => {
    expect(
      told(
        endpoints([
          { addresses: [{ ip: '10.0.0.1' }], notReadyAddresses: [{ ip: '10.0.0.2' }], ports: [http] },
          { notReadyAddresses: [{ ip: '10.0.0.1' }], ports: [http] },
        ]),
      ),
    ).toEqual(['IPv4 [http 80]: 10.0.0.1! 10.0.0.2!'])
  })

  test('nothing without addresses, and a slice without ports where there are none', () => {
    expect(told(endpoints([]))).toEqual([])
    expect(told(endpoints(undefined))).toEqual([])
    expect(told(endpoints([{ ports: [http] }]))).toEqual([])
    expect(told(endpoints([{ addresses: [{ ip: '10.0.0.1' }] }]))).toEqual(['IPv4 []: 10.0.0.1'])
  })

  test('at most 1000 addresses of a subset, and those that are addresses', () => {
    const many = Array.from({ length: 1005 }, (_, i) => ({ ip: `10.0.${i >> 8}.${i & 255}` }))
    const { slices, problems } = mirrorEndpoints(endpoints([{ addresses: [{ ip: 'x' }, ...many], ports: [http] }]))
    expect(slices.map(({ slice }) => (slice['endpoints'] as unknown[]).length)).toEqual([1000])
    expect(problems).toEqual(['at most 1000 addresses of a subset count; 6 are left out'])
    expect(mirrorEndpoints(endpoints([{ addresses: [{ ip: 'x' }], ports: [http] }])).problems).toEqual([
      '"x" is not an IP address',
    ])
  })

  test('the same however often it is asked, and whatever the shape', () => {
    for (const odd of [null, 5, 'x', [null], [{ addresses: 'x', ports: 5 }], [{ addresses: [5], ports: [null] }]])
      expect(mirrorEndpoints(endpoints(odd)).slices).toEqual([])
  })
})

test('a slice that is there is known again by its ports and address type', () => {
  for (const { key, slice } of mirrorEndpoints(
    endpoints([{ addresses: [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }], ports: [http, admin] }]),
  ).slices)
    expect(keyOfSlice({ ...slice, ports: (slice['ports'] as unknown[]).toReversed() })).toBe(key)
})

describe('an Endpoints object is not mirrored', () => {
  const service = { spec: {} }
  test.each([
    ['without its Service', endpoints([]), undefined, 'no Service'],
    ['when the Service has a selector', endpoints([]), { spec: { selector: { app: 'x' } } }, 'selector'],
    [
      'when its label says so',
      endpoints([], { labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } }),
      service,
      'skip label',
    ],
    [
      'when it elects a leader',
      endpoints([], { annotations: { 'control-plane.alpha.kubernetes.io/leader': '{}' } }),
      service,
      'leader election',
    ],
  ])('%s', (_, object, itsService, why) => {
    expect(whyNotMirrored(object, itsService)).toBe(why)
  })

  test.each([
    ['an empty selector', endpoints([]), { spec: { selector: {} } }],
    [
      'another value of the label',
      endpoints([], { labels: { 'endpointslice.kubernetes.io/skip-mirror': 'false' } }),
      service,
    ],
  ])('but is with %s', (_, object, itsService) => {
    expect(whyNotMirrored(object, itsService)).toBeUndefined()
  })
})
