import { describe, expect, test } from 'vitest'
import { rawSlice, record } from '../core/testing/objects.ts'
import { parseObject } from './parse.ts'
import { problemsOf } from './testing/problems-of.ts'

describe('an EndpointSlice', () => {
  test('is serving and ready where the controller says nothing', () => {
    const [endpoint] = record('EndpointSlice', rawSlice('demo/web-1', 'web', ['10.0.0.1'])).endpoints
    expect(endpoint).toMatchObject({ ready: true, serving: true, terminating: false, zoneHints: [], nodeHints: [] })
  })

  test('uses the first address only, in canonical form', () => {
    const endpoints = [{ addresses: ['010.000.000.001', '10.0.0.2'] }]
    expect(record('EndpointSlice', rawSlice('demo/web-1', 'web', endpoints)).endpoints[0]?.ip).toBe('10.0.0.1')
  })

  test('loses only what is wrong in it', () => {
    const raw = rawSlice(
      'demo/web-1',
      'web',
      [{ addresses: [] }, '10.0.0.1', { addresses: ['10.0.0.400'] }],
      [{ port: 1 }, { name: 'a' }, { name: 'b', port: 0 }, { name: '', port: 8080 }],
    )
    const parsed = record('EndpointSlice', raw)
    expect(parsed.ports).toEqual([{ name: '', protocol: 'TCP', port: 8080 }])
    expect(parsed.endpoints.map(({ ip }) => ip)).toEqual(['10.0.0.1'])
    expect(problemsOf('EndpointSlice', raw)).toEqual([
      'ports[0].name: must be a string; "" for the unnamed port',
      'ports[1].port: must be a number: a port that means "all ports" cannot be proxied',
      'ports[2].port: must be a number: a port that means "all ports" cannot be proxied',
      'endpoints[0].addresses[0]: must be an IPv4 address, not missing',
      'endpoints[2].addresses[0]: must be an IPv4 address, not "10.0.0.400"',
    ])
  })

  test('without the name of its Service, or with host names for addresses, is skipped with the reason', () => {
    const orphan = rawSlice('demo/web-1', '', ['10.0.0.1'])
    expect(parseObject('EndpointSlice', orphan).ok).toBe(false)
    expect(problemsOf('EndpointSlice', orphan)).toEqual([
      'metadata.labels["kubernetes.io/service-name"]: must name the Service this slice belongs to',
    ])
    const names = rawSlice('demo/web-1', 'web', ['a.example'], [80], { addressType: 'FQDN' })
    expect(problemsOf('EndpointSlice', names)).toEqual(['addressType: only IPv4 and IPv6 can be proxied'])
  })

  test('has the conditions, the node, the zone and the hints that it says, each hint once', () => {
    const zones = [{ name: 'a' }, { name: 'b' }, { name: 'a' }]
    const said = {
      addresses: ['10.0.0.1'],
      nodeName: 'here',
      zone: 'b',
      conditions: { ready: false, serving: false, terminating: true },
      hints: { forZones: zones, forNodes: [{ name: 'here' }] },
    }
    const silent = {
      addresses: ['10.0.0.2'],
      nodeName: null,
      zone: null,
      conditions: null,
      hints: { forZones: null, forNodes: [] },
    }
    const raw = rawSlice('demo/web-1', 'web', [said, silent])
    expect(record('EndpointSlice', raw).endpoints).toEqual([
      {
        ip: '10.0.0.1',
        nodeName: 'here',
        ready: false,
        serving: false,
        terminating: true,
        zone: 'b',
        zoneHints: ['a', 'b'],
        nodeHints: ['here'],
      },
      { ip: '10.0.0.2', nodeName: '', ready: true, serving: true, terminating: false, zoneHints: [], nodeHints: [] },
    ])
    expect(problemsOf('EndpointSlice', raw)).toEqual([])
  })

  test('has no endpoint of the other family, nor one that no pod can have', () => {
    const raw = (addressType: string, ...ips: string[]) => rawSlice('demo/web-1', 'web', ips, [80], { addressType })
    const six = raw('IPv6', 'fd00::1', '10.0.0.1')
    expect(record('EndpointSlice', six)).toMatchObject({ family: 'ipv6', endpoints: [{ ip: 'fd00::1' }] })
    expect(problemsOf('EndpointSlice', six)).toEqual([
      'endpoints[1].addresses[0]: must be an IPv6 address, not "10.0.0.1"',
    ])
    const four = raw('IPv4', '169.254.1.1', '127.0.0.1', 'fd00::1')
    expect(record('EndpointSlice', four)).toMatchObject({ family: 'ipv4', endpoints: [{ ip: '127.0.0.1' }] })
    expect(problemsOf('EndpointSlice', four)).toEqual([
      'endpoints[0].addresses[0]: "169.254.1.1" is a link-local address, which nobody may have as an endpoint',
      'endpoints[2].addresses[0]: must be an IPv4 address, not "fd00::1"',
    ])
  })

  test('has the ports whose number and protocol it can read', () => {
    const ports = [
      { name: 'a', port: 53, protocol: 'UDP' },
      { name: 'b', port: 54, protocol: 'QUIC' },
      { name: 'c', port: 70_000 },
      { name: 'd', port: null },
      { name: 'e', port: 55, protocol: null },
    ]
    const raw = rawSlice('demo/web-1', 'web', [], ports)
    expect(record('EndpointSlice', raw).ports).toEqual([
      { name: 'a', protocol: 'UDP', port: 53 },
      { name: 'e', protocol: 'TCP', port: 55 },
    ])
    expect(problemsOf('EndpointSlice', raw)).toEqual([
      'ports[1].protocol: must be one of TCP, UDP, SCTP, not "QUIC"',
      'ports[2].port: must be a whole number from 1 to 65535, not 70000',
      'ports[3].port: must be a number: a port that means "all ports" cannot be proxied',
    ])
  })

  test('remembers when the change happened, if it is told in a form it can read', () => {
    const at = (time: unknown) =>
      record(
        'EndpointSlice',
        rawSlice('demo/web-1', 'web', ['10.0.0.1'], [80], {
          metadata: { annotations: { 'endpoints.kubernetes.io/last-change-trigger-time': time } },
        }),
      ).triggerTimeMs
    expect(at('2026-01-02T03:04:05.5Z')).toBe(Date.UTC(2026, 0, 2, 3, 4, 5, 500))
    expect(at('2026-01-02T03:04:05+01:00')).toBe(Date.UTC(2026, 0, 2, 2, 4, 5))
    const sixDigits = '+002026-01-02T03:04:05Z' // a year that JavaScript reads, and RFC 3339 does not have
    for (const unreadable of ['yesterday', '2026', sixDigits, '2026-99-02T03:04:05Z', ['2026-01-02T03:04:05Z']])
      expect(at(unreadable)).toBeUndefined()
  })
})
