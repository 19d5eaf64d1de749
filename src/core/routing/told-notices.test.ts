import { expect, test } from 'vitest'
import type { ObjectKey } from '../../api/records.ts'
import { Catalog } from '../catalog.ts'
import { silentMetrics } from '../proxy-metrics.ts'
import { RouteTable } from './route-table.ts'
import { usualPolicy } from './serving-policy.ts'
import type { ServingPolicy } from './serving-policy.ts'
import { service, slice } from '../testing/objects.ts'
import { RecordingLogger } from '../testing/recording-logger.ts'
import { addressesOf } from '../testing/routes.ts'
import { ToldNotices } from './told-notices.ts'

function setUp(policy: Partial<ServingPolicy> = {}) {
  const log = new RecordingLogger()
  const events: string[] = []
  const counts: Record<string, number> = {}
  const notices = new ToldNotices({
    log,
    metrics: { serviceNotices: (family, reason, count) => void (counts[`${family} ${reason}`] = count) },
    onNotice: (key, reason, text) => void events.push(`${key} ${reason}: ${text}`),
  })
  const catalog = new Catalog()
  const place = { nodeName: 'here', nodeIP: '10.200.0.2', metrics: silentMetrics, startedAtMs: 0 }
  const table = new RouteTable({
    ...place,
    catalog,
    family: 'ipv4',
    notices,
    policy: { ...usualPolicy, ...policy },
  })
  catalog.replace('Service', [])
  catalog.replace('EndpointSlice', [])
  return { catalog, table, notices, log, events, counts }
}

const kubernetes = service('default/kubernetes', { clusterIP: '10.96.0.1', ports: [{ port: 443 }] })
const thief = service('shop/thief', {
  clusterIP: '10.96.0.2',
  externalIPs: ['10.96.0.1'],
  ports: [{ port: 443 }],
})

test('an address that was refused is said once, with both Services, and counted as long as it lasts', () => {
  const { catalog, table, log, events, counts } = setUp()
  catalog.upsert(thief)
  table.flush()
  expect(events).toEqual([])
  catalog.upsert(kubernetes)
  table.flush()
  const text = 'external IP 10.96.0.1:443/TCP is not served: it is a cluster IP of default/kubernetes'
  expect(events).toEqual([`shop/thief AddressInUse: ${text}`])
  expect(log.at('warn')).toEqual([
    {
      level: 'warn',
      message: 'Service needs attention',
      fields: { service: 'shop/thief', reason: text, owner: 'default/kubernetes' },
    },
  ])
  expect(counts['ipv4 AddressInUse']).toBe(1)
  expect(
    addressesOf(table.take({ full: true }).view.routesByKey.get('shop/thief/TCP' as never), 'external-ip'),
  ).toEqual([])

  // A change that is about something else says nothing again.
  catalog.upsert({ ...thief, affinitySeconds: 60 })
  table.flush()
  expect(log.at('warn')).toHaveLength(1)

  catalog.remove('Service', 'shop/thief' as ObjectKey)
  table.flush()
  expect([counts['ipv4 AddressInUse'], counts['ipv6 AddressInUse']]).toEqual([0, 0])
  catalog.upsert(thief)
  table.flush()
  expect(events).toHaveLength(2)
})

test('a Service that asks for very many addresses is told of the first ones, soon', () => {
  const { catalog, table, log, events, counts } = setUp()
  catalog.upsert(kubernetes)
  const owned = Array.from({ length: 200 }, (_, index) => `10.97.${index >> 8}.${index & 255}`)
  for (const [index, clusterIP] of owned.entries())
    catalog.upsert(service(`shop/owner-${index}`, { clusterIP, ports: [{ port: 1 }] }))
  const ports = Array.from({ length: 200 }, (_, index) => ({ name: `p${index}`, port: 1000 + index }))
  catalog.upsert(service('shop/thief', { clusterIP: '10.96.0.2', externalIPs: owned, ports }))
  table.flush()
  expect(
    addressesOf(table.take({ full: true }).view.routesByKey.get('shop/thief:p199/TCP' as never), 'external-ip'),
  ).toEqual([])
  expect(log.at('warn')).toHaveLength(11)
  expect(log.at('warn').at(-1)?.fields).toMatchObject({ reason: '39990 more addresses are not served either' })
  expect(events).toHaveLength(1)
  expect(counts['ipv4 AddressInUse']).toBe(11)
})

test.each<[string, Partial<ServingPolicy>, string, Record<string, unknown>, readonly string[]]>([
  [
    "the node's own address",
    {},
    'NodeAddress: external IP 10.200.0.2 is an address of this node: what the node itself runs on 80/TCP cannot be reached there',
    { externalIPs: ['10.200.0.2'] },
    ['10.0.0.1'],
  ],
  [
    'an endpoint on loopback',
    {},
    'LoopbackAddress: endpoint 127.0.0.1 of web-1 is not used: it is a loopback address',
    {},
    ['10.0.0.1', '127.0.0.1'],
  ],
  [
    'ranges of the other family only',
    {},
    'SourceRangesOfOtherFamily: spec.loadBalancerSourceRanges has no IPv4 range, so everybody may use the IPv4 load-balancer IPs; add one, or start with --strict-source-ranges',
    { loadBalancerSourceRanges: ['fd00::/64'] },
    ['10.0.0.1'],
  ],
  [
    'ranges of the other family only, strictly',
    { strictSourceRanges: true },
    'SourceRangesOfOtherFamily: spec.loadBalancerSourceRanges has no IPv4 range, so nobody may use the IPv4 load-balancer IPs (--strict-source-ranges)',
    { loadBalancerSourceRanges: ['fd00::/64'] },
    ['10.0.0.1'],
  ],
  [
    'a range that cannot be read',
    {},
    'UnreadableSourceRange: a range in spec.loadBalancerSourceRanges cannot be read and allows nobody: nobody may use the IPv4 load-balancer IPs',
    { loadBalancerSourceRanges: ['fd00::/64', 'nonsense'] },
    ['10.0.0.1'],
  ],
])('%s is said', (_, policy, expected, spec, endpoints) => {
  const { catalog, table, events } = setUp(policy)
  const ingress = [{ ip: '203.0.113.1' }]
  catalog.upsert(
    service('shop/web', { clusterIP: '10.96.0.9', ports: [{ port: 80 }], ...spec }, { loadBalancer: { ingress } }),
  )
  catalog.upsert(slice('shop/web-1', 'web', endpoints))
  table.flush()
  expect(events).toEqual([`shop/web ${expected}`])
})

test('nothing is said about a Service that has what it asks for', () => {
  const { catalog, table, log, events } = setUp({ allowLoopback: true })
  const ranges = { loadBalancerSourceRanges: ['192.0.2.0/24', 'fd00::/64'], externalIPs: ['192.0.2.1'] }
  const ingress = [{ ip: '203.0.113.1' }]
  catalog.upsert(
    service('shop/web', { clusterIP: '10.96.0.9', ports: [{ port: 80 }], ...ranges }, { loadBalancer: { ingress } }),
  )
  catalog.upsert(slice('shop/web-1', 'web', ['127.0.0.1']))
  table.flush()
  expect([events, log.lines]).toEqual([[], []])
})

test('it says about which Services there is something to say, each once, and when that may be something else', () => {
  const { catalog, table, notices } = setUp()
  const heard: string[] = []
  const end = notices.subscribe((service) => heard.push(service))
  catalog.upsert(kubernetes)
  catalog.upsert(thief)
  table.flush()
  notices.tell('ipv6', 'shop/thief' as ObjectKey, [{ reason: 'AddressInUse', text: 'again' }])
  notices.tell('ipv6', 'shop/other' as ObjectKey, [{ reason: 'AddressInUse', text: 'another' }])
  expect([...notices.services()]).toEqual(['shop/thief', 'shop/other'])
  expect(heard).toEqual(['shop/thief', 'shop/thief', 'shop/other'])
  notices.tell('ipv6', 'shop/other' as ObjectKey, [])
  expect([...notices.services()]).toEqual(['shop/thief'])
  end()
  notices.tell('ipv4', 'shop/thief' as ObjectKey, [])
  expect(heard).toHaveLength(4)
})
