import { expect, test } from 'vitest'
import { nodeIps } from './node-ips.ts'

test('a Node with an IPv4 address only is IPv4 first, with loopback for IPv6', () => {
  expect(nodeIps({ ips: ['192.0.2.1'], bindAddress: '0.0.0.0' })).toEqual({
    primaryFamily: 'ipv4',
    ips: { ipv4: '192.0.2.1', ipv6: '::1' },
  })
})

test('the first address of the Node sets the primary family', () => {
  expect(nodeIps({ ips: ['fd00::1', '192.0.2.1'], bindAddress: '0.0.0.0' })).toEqual({
    primaryFamily: 'ipv6',
    ips: { ipv4: '192.0.2.1', ipv6: 'fd00::1' },
  })
})

test('a bind address replaces the address of its family and makes it primary', () => {
  expect(nodeIps({ ips: ['fd00::1', '192.0.2.1'], bindAddress: '80.80.80.80' })).toEqual({
    primaryFamily: 'ipv4',
    ips: { ipv4: '80.80.80.80', ipv6: 'fd00::1' },
  })
  expect(nodeIps({ ips: [], bindAddress: 'fd00:4321::2' })).toEqual({
    primaryFamily: 'ipv6',
    ips: { ipv4: '127.0.0.1', ipv6: 'fd00:4321::2' },
  })
})

test('an unspecified, empty or unreadable bind address changes nothing', () => {
  for (const bindAddress of ['::', '0.0.0.0', '', 'eth0'])
    expect(nodeIps({ ips: ['192.0.2.1'], bindAddress }).primaryFamily).toBe('ipv4')
})

test('without any address loopback stands in, IPv4 first', () => {
  expect(nodeIps({ ips: [], bindAddress: '0.0.0.0' })).toEqual({
    primaryFamily: 'ipv4',
    ips: { ipv4: '127.0.0.1', ipv6: '::1' },
  })
})
