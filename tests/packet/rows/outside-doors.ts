/** External IPs, load-balancer VIPs and node ports with policy Cluster, and what becomes of them without endpoints. */
import { plans } from '../testing/address-plan.ts'
import { at, byRules, dropped, reaches, refused, row, untouched } from '../testing/row.ts'
import type { Door, Scenario } from '../testing/row.ts'
import { givenService } from '../testing/service-fixture.ts'
import type { PortFixture, ServiceFixture } from '../testing/service-fixture.ts'

const both = ['here-1', 'there-1'] as const
const udp: PortFixture = { name: 'dns', protocol: 'UDP', port: 53, target: 53 }
const ranges = [` ${plans.ipv4.clientRange}`, plans.ipv4.nodeRange, plans.ipv6.clientRange, plans.ipv6.nodeRange]

const clientRanges = [plans.ipv4.clientRange, plans.ipv6.clientRange]

const open = givenService('open', 20, { type: 'LoadBalancer', hasExternalIP: true, endpoints: both })
const openUdp = givenService('open-udp', 21, {
  type: 'LoadBalancer',
  hasExternalIP: true,
  ports: [udp],
  endpoints: both,
})
const empty = givenService('open-empty', 22, { type: 'LoadBalancer', hasExternalIP: true, sourceRanges: ranges })
const emptyUdp = givenService('open-empty-udp', 23, { type: 'LoadBalancer', hasExternalIP: true, ports: [udp] })
const guarded = givenService('guarded', 24, {
  type: 'LoadBalancer',
  vips: 'two',
  sourceRanges: ranges,
  endpoints: ['there-1'],
})
const clientsOnly = givenService('clients-only', 25, {
  type: 'LoadBalancer',
  vips: 'two',
  sourceRanges: clientRanges,
  endpoints: ['there-1'],
})
const everybody = givenService('everybody', 26, {
  type: 'LoadBalancer',
  sourceRanges: [plans.ipv4.clientRange, '0.0.0.0/0', plans.ipv6.clientRange, '::/0'],
  endpoints: ['there-1'],
})
const guardedV6 = givenService('guarded-v6', 27, {
  type: 'LoadBalancer',
  sourceRanges: [plans.ipv6.clientRange],
  endpoints: ['there-1'],
})
const proxied = givenService('proxied', 28, { type: 'LoadBalancer', vips: 'proxied', endpoints: ['there-1'] })
const through = givenService('through', 33, {
  type: 'LoadBalancer',
  endpoints: ['there-1'],
  annotations: { 'fairlead.dev/load-balancer-hairpin': 'through' },
})
const named = givenService('named', 29, { type: 'LoadBalancer', vips: 'host name', endpoints: ['there-1'] })
const hereOnlyInside = givenService('here-only-inside', 30, {
  type: 'LoadBalancer',
  internalTrafficPolicy: 'Local',
  endpoints: ['there-1'],
})
const inside = givenService('inside', 31, { endpoints: ['here-1'] })
const overlapping = givenService('overlapping', 32, {
  type: 'LoadBalancer',
  sourceRanges: ['203.0.113.0/26', '203.0.112.0/24', '2001:db8:200::/64', '2001:db8:1ff::/48', ...clientRanges],
  endpoints: ['there-1'],
})

export const outsideDoorServices = [
  open,
  openUdp,
  empty,
  emptyUdp,
  guarded,
  clientsOnly,
  everybody,
  guardedV6,
  proxied,
  through,
  named,
  hereOnlyInside,
  inside,
  overlapping,
]

const doors = (service: ServiceFixture, ...names: readonly Door[]) => names.map((door) => at(door, service))
const allDoors = ['external IP', 'VIP', 'node port', "node port on the node's second address"] as const
const vips = ['VIP', 'second VIP'] as const

export const outsideDoorRows = [
  row(76, 'external IP, VIP and node port reach every endpoint and masquerade', {
    from: ['outside', 'blocked', 'caller', 'node'],
    to: doors(open, ...allDoors),
    expect: reaches(both, 'node'),
  }),
  row(76, 'external IP, VIP and node port work for UDP', {
    from: ['outside', 'caller', 'node'],
    to: doors(openUdp, ...allDoors),
    expect: reaches(both, 'node'),
  }),
  row(76, 'the ClusterIP of a Service with other doors does not masquerade pods', {
    from: 'caller',
    to: at('cluster IP', open),
    expect: reaches(both, 'client'),
  }),
  row(40, 'without endpoints every door refuses', {
    from: 'outside',
    to: [...doors(empty, 'cluster IP', ...allDoors), ...doors(emptyUdp, 'cluster IP', ...allDoors)],
    expect: refused,
  }),
  row(40, 'without endpoints every door refuses pods too', {
    from: 'caller',
    to: [
      ...doors(empty, 'cluster IP', ...allDoors).filter(({ door }) => door !== 'VIP'),
      ...doors(emptyUdp, 'cluster IP', ...allDoors),
    ],
    expect: refused,
  }),
  row(41, 'without endpoints the ClusterIP and the node port refuse the node too', {
    from: 'node',
    to: [...doors(empty, 'cluster IP', 'node port'), ...doors(emptyUdp, 'cluster IP', 'node port')],
    expect: refused,
  }),
  row(40, 'without endpoints what the node itself sends to an external IP or VIP is not touched', {
    from: 'node',
    to: doors(empty, 'external IP', 'VIP'),
    expect: untouched,
    only: 'iptables',
  }),
  row(40, 'without endpoints external IP and VIP refuse the node too', {
    from: 'node',
    to: doors(empty, 'external IP', 'VIP'),
    expect: refused,
    only: ['nftables', 'ipvs'],
  }),
  row(42, 'without endpoints a VIP refuses also those who may not use it', {
    from: ['blocked', 'caller'],
    to: at('VIP', empty),
    expect: refused,
    only: 'iptables',
  }),
  row(59, 'without endpoints a VIP drops those who may not use it', {
    from: ['blocked', 'caller'],
    to: at('VIP', empty),
    expect: dropped,
    only: ['nftables', 'ipvs'],
  }),
  row(45, 'source ranges do not touch the ClusterIP', {
    from: 'caller',
    to: at('cluster IP', guarded),
    expect: reaches(['there-1'], 'client'),
  }),
  row(46, 'source ranges do not touch the node port', {
    from: ['outside', 'blocked'],
    to: at('node port', guarded),
    expect: reaches(['there-1'], 'node'),
  }),
  row(48, 'a client in the source ranges reaches each VIP', {
    from: 'outside',
    to: [...doors(guarded, ...vips), ...doors(clientsOnly, ...vips)],
    expect: reaches(['there-1'], 'node'),
  }),
  row(49, 'a client outside the source ranges is dropped', {
    from: ['blocked', 'caller'],
    to: [...doors(guarded, ...vips), ...doors(clientsOnly, ...vips)],
    expect: dropped,
  }),
  row(51, 'a node in the source ranges reaches each VIP', {
    from: 'node',
    to: doors(guarded, ...vips),
    expect: reaches(['there-1'], 'node'),
  }),
  row(51, 'a node outside the source ranges is dropped', {
    from: 'node',
    to: [...doors(clientsOnly, ...vips), at('VIP', overlapping)],
    expect: dropped,
    only: byRules,
  }),
  row(87, 'a node outside the source ranges gets through with its own address', {
    from: 'node',
    to: [...doors(clientsOnly, ...vips), at('VIP', overlapping)],
    expect: reaches(['there-1'], 'node'),
    only: 'ipvs',
  }),
  row(52, 'a node in the source ranges may call a VIP from that VIP', {
    from: 'vip',
    to: at('second VIP', guarded),
    expect: reaches(['there-1'], 'node'),
  }),
  row(53, 'a node outside the source ranges may not call a VIP from that VIP', {
    from: 'vip',
    to: at('second VIP', clientsOnly),
    expect: dropped,
  }),
  row(55, 'source ranges with everybody in them restrict nobody', {
    from: ['outside', 'blocked', 'caller', 'node'],
    to: at('VIP', everybody),
    expect: reaches(['there-1'], 'node'),
  }),
  row(56, 'source ranges of the other family restrict nobody', {
    from: ['outside', 'blocked', 'caller'],
    to: at('VIP', guardedV6),
    expect: reaches(['there-1'], 'node'),
    families: ['ipv4'],
  }),
  row(56, 'source ranges of the own family restrict', {
    from: ['blocked', 'caller'],
    to: at('VIP', guardedV6),
    expect: dropped,
    families: ['ipv6'],
  }),
  row(63, 'of source ranges that overlap each one counts', {
    from: 'outside',
    to: at('VIP', overlapping),
    expect: reaches(['there-1'], 'node'),
  }),
  row(63, 'a client outside source ranges that overlap is dropped', {
    from: ['blocked', 'caller'],
    to: at('VIP', overlapping),
    expect: dropped,
  }),
  row(57, 'a VIP that its load balancer proxies is not touched', {
    from: ['caller', 'outside', 'node'],
    to: at('VIP', proxied),
    expect: untouched,
  }),
  row(57, 'a VIP that the Service leaves to its load balancer is not touched', {
    from: ['caller', 'outside', 'node'],
    to: at('VIP', through),
    expect: untouched,
    needs: ['annotations of Fairlead'],
  }),
  row(57, 'the node port of such a Service answers', {
    from: ['outside', 'node'],
    to: at('node port', through),
    expect: reaches(['there-1'], 'node'),
  }),
  row(58, 'a load balancer with a host name has no VIP to touch', {
    from: ['caller', 'outside'],
    to: at('VIP', named),
    expect: untouched,
  }),
  row(84, 'internalTrafficPolicy Local does not apply to node port and VIP', {
    from: ['outside', 'caller'],
    to: doors(hereOnlyInside, 'node port', 'VIP'),
    expect: reaches(['there-1'], 'node'),
  }),
  row(67, 'a ClusterIP Service has no node port', {
    from: ['outside', 'caller', 'node'],
    to: at('node port', inside),
    expect: untouched,
  }),
]

export const outsideDoorScenarios: readonly Scenario[] = [
  {
    name: 'external IPs switched off',
    settings: { externalIPs: false },
    services: [open, empty],
    rows: [
      row(62, 'an external IP is not touched', {
        from: ['outside', 'caller', 'node'],
        to: [at('external IP', open), at('external IP', empty)],
        expect: untouched,
      }),
      row(62, 'the other doors are open', {
        from: ['outside', 'caller', 'node'],
        to: doors(open, 'VIP', 'node port'),
        expect: reaches(both, 'node'),
      }),
    ],
  },
]
