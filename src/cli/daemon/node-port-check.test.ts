import { expect, test } from 'vitest'
import { closedNodePortWarnings } from './node-port-check.ts'

const localIps = ['127.0.0.1', '10.0.0.5', 'fd00::5']

test('a node address that no interface has is told, by family', () => {
  const [warning, ...others] = closedNodePortWarnings(['10.0.0.9/32', 'fd00::5/128'], ['ipv4', 'ipv6'], localIps)
  expect(warning).toMatch(
    /^no address of this machine is in nodePortAddresses \(10\.0\.0\.9\/32\): its ipv4 node ports/,
  )
  expect(others).toEqual([])
})

test('nothing is told about a family that is open on all addresses, on one of them, or not proxied', () => {
  expect(closedNodePortWarnings([], ['ipv4', 'ipv6'], [])).toEqual([])
  expect(closedNodePortWarnings(['10.0.0.0/8'], ['ipv4', 'ipv6'], localIps)).toEqual([])
  expect(closedNodePortWarnings(['10.0.0.9/32'], ['ipv6'], localIps)).toEqual([])
})
