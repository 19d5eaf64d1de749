import type { NetworkInterfaceInfo } from 'node:os'
import { expect, test } from 'vitest'
import { machineAddresses } from './machine-addresses.ts'

function info(address: string, internal = false): NetworkInterfaceInfo {
  const common = { address, internal, netmask: '', mac: '', cidr: null }
  return address.includes(':') ? { ...common, family: 'IPv6', scopeid: 0 } : { ...common, family: 'IPv4' }
}

test('the node has the first address of each family that is neither local nor of a container', () => {
  const interfaces = {
    lo: [info('127.0.0.1', true), info('::1', true)],
    docker0: [info('172.17.0.1')],
    eth0: [info('fe80::1'), info('2001:db8::10'), info('192.0.2.10')],
    eth1: [info('192.0.2.99')],
  }
  expect(machineAddresses(interfaces)).toEqual(['192.0.2.10', '2001:db8::10'])
  expect(machineAddresses({ lo: interfaces.lo })).toEqual([])
})
