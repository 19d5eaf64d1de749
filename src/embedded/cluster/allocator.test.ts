import { describe, expect, test } from 'vitest'
import { ServiceAllocator } from './allocator.ts'
import type { ApiObject } from '../resource.ts'
import { entryOf } from '../store/entry.ts'
import type { Entry } from '../store/entry.ts'

const cidrs = 'servicecidrs.networking.k8s.io'

function allocatorFor(...ranges: string[]): ServiceAllocator {
  const allocator = new ServiceAllocator()
  allocator.observe(cidrs, undefined, entry('kubernetes', { cidrs: ranges }))
  return allocator
}

function entry(name: string, spec: object): Entry {
  const object: ApiObject = { apiVersion: 'v1', kind: 'Any', metadata: { name, namespace: 'default' }, spec }
  return entryOf(object, 1)
}

/** Allocates and claims, as a create does. */
function allocate(allocator: ServiceAllocator, name: string, family: 'ipv4' | 'ipv6' = 'ipv4'): string | undefined {
  const clusterIP = allocator.nextClusterIP(family)
  if (clusterIP !== undefined) allocator.observe('services', undefined, entry(name, { clusterIP }))
  return clusterIP
}

describe('cluster IPs', () => {
  test('begin above the band that is kept for those who choose', () => {
    const allocator = allocatorFor('10.96.0.0/16', 'fd00:10:96::/112')
    expect(allocator.families).toEqual(['ipv4', 'ipv6'])
    expect([allocate(allocator, 'a'), allocate(allocator, 'b')]).toEqual(['10.96.1.1', '10.96.1.2'])
    expect(allocate(allocator, 'c', 'ipv6')).toBe('fd00:10:96::101')
  })

  test('of a whole small range are given out once each, never the network or broadcast address', () => {
    const allocator = allocatorFor('192.168.7.0/28')
    const given = Array.from({ length: 14 }, (_, index) => allocate(allocator, `s${index}`))
    expect(new Set(given).size).toBe(14)
    expect(given).not.toContain('192.168.7.0')
    expect(given).not.toContain('192.168.7.15')
    expect(allocator.nextClusterIP('ipv4')).toBeUndefined()
  })

  test('come from the next range when the first is full', () => {
    const allocator = allocatorFor('192.168.7.0/30')
    expect([allocate(allocator, 'a'), allocate(allocator, 'b')]).toEqual(['192.168.7.1', '192.168.7.2'])
    allocator.observe(cidrs, undefined, entry('more', { cidrs: ['192.168.8.0/30'] }))
    expect(allocate(allocator, 'c')).toBe('192.168.8.1')
  })

  test('that were given back rest before they are given out again', () => {
    const allocator = allocatorFor('10.96.0.0/24')
    const first = allocate(allocator, 'a')
    allocator.observe('services', entry('a', { clusterIP: first }), undefined)
    expect(allocate(allocator, 'b')).not.toBe(first)
    expect(allocator.refuseClusterIP(first ?? '', 'default/c')).toBeUndefined()
  })

  test('are refused to all but their owner', () => {
    const allocator = allocatorFor('10.96.0.0/16')
    allocator.observe('services', undefined, entry('a', { clusterIPs: ['10.96.0.10'] }))
    expect(allocator.refuseClusterIP('10.96.0.10', 'default/b')).toBe('provided IP is already allocated')
    expect(allocator.refuseClusterIP('10.96.0.10', 'default/a')).toBeUndefined()
  })

  test('are refused outside the range, and at its edges', () => {
    const allocator = allocatorFor('10.96.0.0/16')
    for (const ip of ['10.97.0.1', '10.96.0.0', '10.96.255.255', 'fd00::1'])
      expect(allocator.refuseClusterIP(ip, 'default/a')).toContain('is not in the valid range')
    expect(allocator.refuseClusterIP('10.96.0.1', 'default/a')).toBeUndefined()
  })

  test('are found at once in a range with 50,000 Services', () => {
    const allocator = allocatorFor('10.96.0.0/16')
    for (let index = 0; index < 50_000; index++) allocate(allocator, `s${index}`)
    // The cursor is behind the last address given, so the next one is free at the first try.
    expect(allocator.nextClusterIP('ipv4')).toBe('10.96.196.81')
  })
})

describe('node ports', () => {
  test('are given out once each, also among several of one Service', () => {
    const allocator = new ServiceAllocator({ first: 30000, last: 30003 })
    const first = allocator.nextNodePort(new Set())
    const second = allocator.nextNodePort(new Set([first ?? 0]))
    expect(second).not.toBe(first)
    allocator.observe('services', undefined, entry('a', { ports: [{ nodePort: first }, { nodePort: second }] }))
    allocator.observe('services', undefined, entry('b', { healthCheckNodePort: 30002, ports: [{ nodePort: 30003 }] }))
    expect(allocator.nextNodePort(new Set())).toBeUndefined()
    allocator.observe('services', entry('b', { healthCheckNodePort: 30002, ports: [] }), undefined)
    expect(allocator.nextNodePort(new Set())).toBe(30002)
  })

  test('are refused when another Service has them or they are out of range', () => {
    const allocator = new ServiceAllocator()
    allocator.observe('services', undefined, entry('a', { ports: [{ nodePort: 30001 }] }))
    expect(allocator.refuseNodePort(30001, 'UDP', 'default/b')).toBe('provided port is already allocated')
    expect(allocator.refuseNodePort(30001, 'UDP', 'default/a')).toBeUndefined()
    expect(allocator.refuseNodePort(80, 'TCP', 'default/a')).toContain('valid ports is 30000-32767')
  })
})
