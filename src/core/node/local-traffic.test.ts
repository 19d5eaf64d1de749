import { expect, test } from 'vitest'
import { localTraffic } from './local-traffic.ts'
import type { LocalTrafficSettings } from './local-traffic.ts'

function given(settings: Partial<LocalTrafficSettings>) {
  return localTraffic({
    mode: 'ClusterCIDR',
    clusterCIDRs: [],
    podCIDRs: [],
    bridgeInterface: '',
    interfaceNamePrefix: '',
    ...settings,
  })
}

const none = { kind: 'none' }

test('one cluster CIDR recognises the traffic of its family only', () => {
  expect(given({ clusterCIDRs: ['10.0.0.0/14'] })).toEqual({ ipv4: { kind: 'cidr', cidr: '10.0.0.0/14' }, ipv6: none })
  expect(given({ clusterCIDRs: ['fd00::/48'] })).toEqual({ ipv4: none, ipv6: { kind: 'cidr', cidr: 'fd00::/48' } })
})

test('cluster CIDRs of both families may come in any order, and the first of each counts', () => {
  const expected = { ipv4: { kind: 'cidr', cidr: '10.0.0.0/14' }, ipv6: { kind: 'cidr', cidr: 'fd00::/48' } }
  expect(given({ clusterCIDRs: ['10.0.0.0/14', 'fd00::/48'] })).toEqual(expected)
  expect(given({ clusterCIDRs: ['fd00::/48', '10.0.0.0/14', '10.99.0.0/16', 'fd99::/48'] })).toEqual(expected)
})

test('CIDRs are printed in their canonical form', () => {
  expect(given({ clusterCIDRs: ['10.20.30.40/16'] }).ipv4).toEqual({ kind: 'cidr', cidr: '10.20.0.0/16' })
})

test('an empty cluster CIDR recognises nothing', () => {
  expect(given({ clusterCIDRs: [''] })).toEqual({ ipv4: none, ipv6: none })
})

test('mode NodeCIDR looks at the pod CIDRs of the Node and never at the cluster CIDR', () => {
  expect(given({ mode: 'NodeCIDR', clusterCIDRs: ['10.0.0.0/8'], podCIDRs: ['10.64.3.0/24'] })).toEqual({
    ipv4: { kind: 'cidr', cidr: '10.64.3.0/24' },
    ipv6: none,
  })
  expect(given({ mode: 'NodeCIDR', clusterCIDRs: ['10.0.0.0/8'] }).ipv4).toEqual(none)
})

test('an interface, or a prefix of interface names, counts for both families', () => {
  const bridge = { kind: 'interface', name: 'cbr0' }
  expect(given({ mode: 'BridgeInterface', bridgeInterface: 'cbr0' })).toEqual({ ipv4: bridge, ipv6: bridge })
  const prefix = { kind: 'interface-prefix', prefix: 'veth' }
  expect(given({ mode: 'InterfaceNamePrefix', interfaceNamePrefix: 'veth' })).toEqual({ ipv4: prefix, ipv6: prefix })
})

test('an unknown mode recognises nothing', () => {
  expect(given({ mode: 'Guess', clusterCIDRs: ['10.0.0.0/8'] })).toEqual({ ipv4: none, ipv6: none })
})
