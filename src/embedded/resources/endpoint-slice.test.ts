import { describe, expect, test } from 'vitest'
import type { ApiObject } from '../resource.ts'
import { endpointSlices } from './endpoint-slice.ts'
import { simpleAllocator } from './testing/simple-allocator.ts'

function slice(fields: Record<string, unknown>): ApiObject {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'web-a', namespace: 'demo' },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.64.0.1'] }],
    ...fields,
  }
}

function refusals(object: ApiObject, old?: ApiObject): string[] {
  const allocator = simpleAllocator()
  const prepared =
    old === undefined
      ? endpointSlices.prepareCreate(object, allocator)
      : endpointSlices.prepareUpdate(object, old, allocator)
  return prepared.ok ? [] : prepared.errors.map(({ field, message }) => `${field}: ${message}`)
}

describe('an EndpointSlice', () => {
  test('gets a name and a protocol for its ports, and its first generation', () => {
    const prepared = endpointSlices.prepareCreate(slice({ ports: [{ port: 80 }] }), simpleAllocator())
    expect(prepared).toMatchObject({
      ok: true,
      object: { metadata: { generation: 1 }, ports: [{ name: '', port: 80, protocol: 'TCP' }] },
    })
  })

  test('is written with its empty parts, as a real server does', () => {
    const prepared = endpointSlices.prepareCreate(slice({}), simpleAllocator())
    expect(prepared).toMatchObject({ object: { endpoints: [{ conditions: {} }], ports: null } })
    const empty = endpointSlices.prepareCreate(slice({ endpoints: [] }), simpleAllocator())
    expect(empty).toMatchObject({ object: { endpoints: null } })
  })

  test('may point at loopback, where the backends of a laptop are', () => {
    expect(refusals(slice({ endpoints: [{ addresses: ['127.0.0.2'] }] }))).toEqual([])
  })

  test('keeps its address type', () => {
    const next = slice({ addressType: 'IPv6', endpoints: [{ addresses: ['fd00::1'] }] })
    expect(refusals(next, slice({}))).toEqual(['addressType: Invalid value: "IPv6": field is immutable'])
  })

  test.each<[string, Record<string, unknown>, string]>([
    ['no address type', { addressType: '' }, 'addressType: Required value'],
    [
      'an unknown address type',
      { addressType: 'IP' },
      'addressType: Unsupported value: "IP": supported values: "FQDN", "IPv4", "IPv6"',
    ],
    [
      'an address of the other family',
      { endpoints: [{ addresses: ['fd00::1'] }] },
      'endpoints[0].addresses: Invalid value: "fd00::1": must be an IPv4 address',
    ],
    [
      'an endpoint without address',
      { endpoints: [{ addresses: [] }] },
      'endpoints[0].addresses: Required value: must contain at least 1 address',
    ],
    [
      'more than 100 addresses',
      { endpoints: [{ addresses: Array.from({ length: 101 }, (_, index) => `10.0.0.${index}`) }] },
      'endpoints[0].addresses: Too many: 101: must have at most 100 items',
    ],
    [
      'more than 1000 endpoints',
      { endpoints: Array.from({ length: 1001 }, () => ({ addresses: ['10.0.0.1'] })) },
      'endpoints: Too many: 1001: must have at most 1000 items',
    ],
    [
      'a link-local address',
      { endpoints: [{ addresses: ['169.254.1.1'] }] },
      'endpoints[0].addresses[0]: Invalid value: "169.254.1.1": may not be in the link-local range (169.254.0.0/16, fe80::/10)',
    ],
    ['two ports of the same name', { ports: [{ port: 1 }, { port: 2 }] }, 'ports[1].name: Duplicate value: ""'],
    [
      'more than 8 hints',
      {
        endpoints: [
          { addresses: ['10.0.0.1'], hints: { forNodes: Array.from({ length: 9 }, (_, n) => ({ name: `n${n}` })) } },
        ],
      },
      'endpoints[0].hints.forNodes: Too many: 9: must have at most 8 items',
    ],
  ])('with %s is refused', (_, fields, expected) => {
    expect(refusals(slice(fields))).toContain(expected)
  })

  test('shows three addresses and counts the others', () => {
    const endpoints = [1, 2, 3, 4, 5].map((n) => ({ addresses: [`10.64.0.${n}`] }))
    const created = {
      ...slice({
        endpoints,
        ports: [
          { name: 'a', port: 80 },
          { name: 'b', port: 443 },
        ],
      }),
    }
    const cells = endpointSlices.cells(created, 0)
    expect(cells.slice(0, 4)).toEqual(['web-a', 'IPv4', '80,443', '10.64.0.1,10.64.0.2,10.64.0.3 + 2 more...'])
    expect(endpointSlices.cells(slice({ endpoints: [] }), 0).slice(2, 4)).toEqual(['<unset>', '<unset>'])
  })
})
