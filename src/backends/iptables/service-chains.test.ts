import { expect, test } from 'vitest'
import { testEndpoint, testRoute } from '../../core/testing/routes.ts'
import { serviceChainNames } from './chain-names.ts'
import { serviceChains } from './service-chains.ts'
import { assumedSettings } from './settings-source.ts'

const settings = assumedSettings({
  family: 'ipv4',
  localTraffic: { kind: 'none' },
  masqueradeAll: false,
  masqueradeMark: '0x00004000',
  localhostNodePorts: false,
  nodePortAddresses: [],
  dropsInvalid: true,
  localIps: () => [],
})

test.each([
  { sourceRangesCoverNode: true, allowed: ['10.0.0.0/8', '203.0.113.5'] },
  { sourceRangesCoverNode: false, allowed: ['10.0.0.0/8'] },
])('the load balancer’s own address passes if the ranges cover the node: $sourceRangesCoverNode', (row) => {
  const route = testRoute('demo/web', {
    loadBalancerIPs: ['203.0.113.5'],
    sourceRanges: ['10.0.0.0/8'],
    sourceRangesCoverNode: row.sourceRangesCoverNode,
    endpoints: [testEndpoint('10.64.0.1', 8080)],
  })
  const names = serviceChainNames(route)
  const chains = serviceChains(route, names, { settings, isLargeCluster: false })
  const firewall = chains.find(({ name }) => name === names.firewall)
  const matches = firewall?.rules.flatMap((rule) => rule.matches) ?? []
  expect(matches.flatMap((match) => (match.kind === 'source' ? [match.value] : []))).toEqual(row.allowed)
})
