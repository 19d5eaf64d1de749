import { expect, test } from 'vitest'
import { testEndpoint } from '../testing/routes.ts'
import type { LocalTraffic } from './local-traffic.ts'
import { followOwnPods, OwnPods } from './own-pods.ts'

const cluster: LocalTraffic = { kind: 'cidr', cidr: '10.64.0.0/16' }
const ofNode: LocalTraffic = { kind: 'cidr', cidr: '10.64.1.0/24' }

test.each<[string, LocalTraffic, readonly string[], LocalTraffic]>([
  ['the range of the Node counts', cluster, ['10.64.1.0/24'], ofNode],
  ['the one of the family', cluster, ['fd00:64:1::/64', '10.64.1.0/24'], ofNode],
  ['a Node without a range leaves what is configured', cluster, [], cluster],
  ['so does one whose range is no part of the cluster', cluster, ['10.65.1.0/24'], cluster],
  ['and one with a range that is larger', ofNode, ['10.64.0.0/16'], ofNode],
  [
    'interfaces say it themselves',
    { kind: 'interface', name: 'cni0' },
    ['10.64.1.0/24'],
    { kind: 'interface', name: 'cni0' },
  ],
  ['nothing configured stays nothing', { kind: 'none' }, ['10.64.1.0/24'], { kind: 'none' }],
])('%s', (_, configured, podCIDRs, expected) => {
  expect(new OwnPods(configured, podCIDRs).localTraffic).toEqual(expected)
})

test('a pod of this node with an address elsewhere in the cluster shows that the Node does not know', () => {
  const pods = new OwnPods(cluster, ['10.64.1.0/24'])
  pods.note([
    testEndpoint('10.64.1.5', 80, { isLocal: true }),
    testEndpoint('10.64.2.5', 80),
    // On the network of the host.
    testEndpoint('192.0.2.1', 80, { isLocal: true }),
  ])
  expect(pods.localTraffic).toEqual(ofNode)
  pods.note([testEndpoint('10.64.2.6', 80, { isLocal: true })])
  expect(pods.localTraffic).toEqual(cluster)
  pods.note([testEndpoint('10.64.1.5', 80, { isLocal: true })])
  expect(pods.localTraffic).toEqual(cluster)
})

test('pod CIDRs that the Node gets later count from then on, and what pods had shown counts no more', () => {
  const podsOf = followOwnPods()
  expect(podsOf(cluster, []).localTraffic).toEqual(cluster)
  const pods = podsOf(cluster, ['10.64.1.0/24'])
  expect(pods.localTraffic).toEqual(ofNode)
  pods.note([testEndpoint('10.64.2.6', 80, { isLocal: true })])
  expect(podsOf({ ...cluster }, ['10.64.1.0/24'])).toBe(pods)
  expect(pods.localTraffic).toEqual(cluster)
  expect(podsOf(cluster, ['10.64.2.0/24']).localTraffic).toEqual({ kind: 'cidr', cidr: '10.64.2.0/24' })
})
