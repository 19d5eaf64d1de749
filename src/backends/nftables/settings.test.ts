import { expect, test } from 'vitest'
import type { Family } from '../../net/ip.ts'
import { currentState } from './settings.ts'

const localIps = ['127.0.0.1', '198.51.100.11', '198.51.100.10', '203.0.113.1', '::1', '2001:db8:ffff::10', 'fe80::1']

function stateFor(nodePortAddresses: readonly string[], family: Family = 'ipv4') {
  const state = currentState({
    family,
    localTraffic: { kind: 'none' },
    masqueradeAll: false,
    masqueradeMark: '0x00004000',
    nodePortAddresses,
    localIps: () => localIps,
  })
  return { limitsNodePorts: state.settings.limitsNodePorts, nodePortIps: state.nodePortIps }
}

test('node ports are open on the addresses of the node that lie in the ranges', () => {
  expect(stateFor(['198.51.100.0/24', '2001:db8:ffff::/64'])).toEqual({
    limitsNodePorts: true,
    nodePortIps: ['198.51.100.10', '198.51.100.11'],
  })
  expect(stateFor(['198.51.100.0/24', '2001:db8:ffff::/64'], 'ipv6')).toEqual({
    limitsNodePorts: true,
    nodePortIps: ['2001:db8:ffff::10'],
  })
})

test('loopback is never among them', () => {
  expect(stateFor(['127.0.0.0/8', '203.0.113.0/24']).nodePortIps).toEqual(['203.0.113.1'])
  expect(stateFor(['::1/128'], 'ipv6')).toEqual({ limitsNodePorts: true, nodePortIps: [] })
})

test.each([
  ['there is none of the family', ['198.51.100.0/24'], 'ipv6'],
  ['one of them is everything', ['198.51.100.0/24', '0.0.0.0/0'], 'ipv4'],
] as const)('node ports are open on every address when %s', (_, ranges, family) => {
  expect(stateFor(ranges, family)).toEqual({ limitsNodePorts: false, nodePortIps: [] })
})

test('ranges whose connections are not tracked are of the family, each once, without the bits that do not count', () => {
  const untrackedPods = ['10.64.1.7/16', '10.64.9.0/24', 'fd00:64::1/64', '192.0.2.1/32']
  const rangesOf = (family: Family, pods?: readonly string[]) =>
    currentState({
      family,
      localTraffic: { kind: 'none' },
      masqueradeAll: false,
      masqueradeMark: '0x00004000',
      nodePortAddresses: [],
      localIps: () => localIps,
      ...(pods && { untrackedPods: pods }),
    }).settings.untrackedRanges
  expect(rangesOf('ipv4', untrackedPods)).toEqual(['10.64.0.0/16', '192.0.2.1/32'])
  expect(rangesOf('ipv6', untrackedPods)).toEqual(['fd00:64::/64'])
  expect([rangesOf('ipv4', ['fd00:64::/64']), rangesOf('ipv4')]).toEqual([undefined, undefined])
})
