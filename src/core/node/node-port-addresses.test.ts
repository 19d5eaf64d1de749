import { expect, test } from 'vitest'
import { expandPrimary, matchingAddresses, nodePortAddresses, nodePortIps } from './node-port-addresses.ts'

const nodeAddresses = ['127.0.0.1', '10.20.30.51', '10.20.31.1', '10.20.30.51', '::1', '2001:db8::1']

function open(cidrs: readonly string[], family: 'ipv4' | 'ipv6') {
  const addresses = nodePortAddresses(cidrs, family)
  return addresses.matchesAll ? 'all' : matchingAddresses(addresses, nodeAddresses)
}

test('the CIDRs of a family choose among the addresses of that family; the other family is not restricted', () => {
  expect(open(['10.20.30.0/24'], 'ipv4')).toEqual(['10.20.30.51'])
  expect(open(['10.20.30.0/24'], 'ipv6')).toBe('all')
})

test('several CIDRs add up, and an address counts once', () => {
  expect(open(['10.20.30.0/24', '10.20.0.0/16'], 'ipv4')).toEqual(['10.20.30.51', '10.20.31.1'])
  expect(open(['127.0.0.0/8', '2001:db8::/64'], 'ipv4')).toEqual(['127.0.0.1'])
  expect(open(['127.0.0.0/8', '2001:db8::/64'], 'ipv6')).toEqual(['2001:db8::1'])
})

test('no CIDR at all means every address', () => {
  expect(open([], 'ipv4')).toBe('all')
  expect(open([], 'ipv6')).toBe('all')
  expect(open(['none'], 'ipv4')).toBe('all')
})

test('a CIDR of length zero makes the others irrelevant', () => {
  expect(open(['1.2.3.0/24', '0.0.0.0/0'], 'ipv4')).toBe('all')
  expect(open(['1.2.3.0/24', '0.0.0.0/0'], 'ipv6')).toBe('all')
  expect(open(['0.0.0.0/0', '1.2.3.0/24'], 'ipv4')).toBe('all')
  expect(nodePortAddresses(['0.0.0.0/0', '1.2.3.0/24'], 'ipv4').cidrs).toEqual([])
  expect(open(['::/0', '1.2.3.0/24'], 'ipv4')).toEqual([])
})

test('CIDRs that match no address leave the node ports closed', () => {
  expect(open(['1.2.3.0/24'], 'ipv4')).toEqual([])
})

test('matching all still lists only the addresses of the family, each once', () => {
  expect(matchingAddresses(nodePortAddresses([], 'ipv4'), nodeAddresses)).toEqual([
    '127.0.0.1',
    '10.20.30.51',
    '10.20.31.1',
  ])
})

test('node ports are open on the chosen addresses in sorted order, on loopback only where a mode can serve it', () => {
  const local = ['10.20.31.1', '127.0.0.1', '10.20.30.51', '::1']
  const chosen = nodePortAddresses(['10.0.0.0/8', '127.0.0.0/8'], 'ipv4')
  expect(nodePortIps(chosen, local)).toEqual(['10.20.30.51', '10.20.31.1'])
  expect(nodePortIps(chosen, local, () => true)).toEqual(['10.20.30.51', '10.20.31.1', '127.0.0.1'])
})

test('without a choice there is no list, for addresses that come later count, too', () => {
  expect(nodePortIps(nodePortAddresses([], 'ipv4'), nodeAddresses)).toBeUndefined()
})

for (const [cidrs, expected] of [
  [[], true],
  [['0.0.0.0/0'], true],
  [['1.2.3.0/24', '0.0.0.0/0'], true],
  [['::/0', '1.2.3.0/24'], false],
  [['127.0.2.0/28'], true],
  [['10.0.0.0/8', '127.0.0.0/8'], true],
  [['64.0.0.0/2'], true],
  [['128.0.2.0/28'], false],
] as const)
  test(`[${cidrs.join(', ')}] ${expected ? 'contains' : 'does not contain'} IPv4 loopback`, () => {
    expect(nodePortAddresses(cidrs, 'ipv4').containsLoopback).toBe(expected)
  })

test('IPv6 never counts as containing loopback', () => {
  for (const cidrs of [[], ['::/0'], ['::1/128'], ['127.0.0.0/8']])
    expect(nodePortAddresses(cidrs, 'ipv6').containsLoopback).toBe(false)
})

test('"primary" stands for the addresses of the node; a family without one is not restricted', () => {
  const expanded = expandPrimary(['primary'], { ipv4: '192.0.2.1', ipv6: '::1' })
  expect(expanded).toEqual(['192.0.2.1/32'])
  expect(nodePortAddresses(expanded, 'ipv6').matchesAll).toBe(true)
  expect(expandPrimary(['primary'], { ipv4: '192.0.2.1', ipv6: 'fd00::1' })).toEqual(['192.0.2.1/32', 'fd00::1/128'])
  expect(expandPrimary(['primary'], { ipv4: '127.0.0.1', ipv6: '::1' })).toEqual([])
})

test('CIDRs are left as they are', () => {
  const nodeIps = { ipv4: '192.0.2.1', ipv6: '::1' }
  for (const texts of [[], ['10.0.0.0/8'], ['primary', '10.0.0.0/8']])
    expect(expandPrimary(texts, nodeIps)).toEqual(texts)
})
