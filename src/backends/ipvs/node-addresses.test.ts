import { describe, expect, test } from 'vitest'
import { isServable, nodeAddresses } from './node-addresses.ts'

describe('an address that IPVS can serve', () => {
  test.each([
    ['127.0.0.1', []],
    ['127.6.7.8', []],
    ['8.8.8.8', ['ipv4']],
    ['192.168.0.1', ['ipv4']],
    ['169.254.0.1', ['ipv4']],
    ['1000::', ['ipv6']],
    ['fec0::1', ['ipv6']],
    ['fe80::200:ff:fe01:1', []],
    ['febf::1', []],
    ['::1', []],
  ] as const)('%s counts for %j', (ip, families) => {
    expect((['ipv4', 'ipv6'] as const).filter((family) => isServable(ip, family))).toEqual(families)
  })
})

const ips = ['127.0.0.1', '192.0.2.1', '10.64.0.1', '::1', 'fe80::1', '2001:db8::1']

test('without CIDRs node ports are open on all addresses of the node', () => {
  const { nodeIps, nodePortIps } = nodeAddresses(ips, 'ipv4', [])
  expect([[...nodeIps], nodePortIps]).toEqual([
    ['192.0.2.1', '10.64.0.1'],
    ['10.64.0.1', '192.0.2.1'],
  ])
  expect(nodeAddresses(ips, 'ipv6', ['192.0.2.0/24']).nodePortIps).toEqual(['2001:db8::1'])
})

test('with CIDRs they are open there only, never on loopback, and on link-local addresses when asked for', () => {
  expect(nodeAddresses(ips, 'ipv4', ['192.0.2.0/24', '127.0.0.0/8']).nodePortIps).toEqual(['192.0.2.1'])
  expect(nodeAddresses(ips, 'ipv6', ['fe80::/10']).nodePortIps).toEqual(['fe80::1'])
  expect(nodeAddresses(ips, 'ipv4', ['203.0.113.0/24']).nodePortIps).toEqual([])
})
