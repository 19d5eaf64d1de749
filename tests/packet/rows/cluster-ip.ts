import { at, byRules, dropped, ping, reaches, refused, row, untouched } from '../testing/row.ts'
import { givenService, ownZone, webPort } from '../testing/service-fixture.ts'
import type { PortFixture } from '../testing/service-fixture.ts'

const everyone = ['here-1', 'there-1', 'there-2'] as const
const web = givenService('web', 1, { endpoints: everyone })
const secure: PortFixture = { name: 'https', protocol: 'TCP', port: 443, target: 8443 }
const tls = givenService('tls', 2, { ports: [secure], endpoints: ['there-1'] })
const dnsTcp: PortFixture = { name: 'dns-tcp', protocol: 'TCP', port: 53, target: 5353 }
const dnsUdp: PortFixture = { name: 'dns', protocol: 'UDP', port: 53, target: 53 }
const dns = givenService('dns', 3, { ports: [dnsTcp, dnsUdp], endpoints: ['here-1', 'there-1'] })
const empty = givenService('empty', 4, {})
const emptyUdp = givenService('empty-udp', 5, { ports: [dnsUdp] })
const hereOnly = givenService('here-only', 6, { internalTrafficPolicy: 'Local', endpoints: everyone })
const twoHere = givenService('two-here', 7, {
  internalTrafficPolicy: 'Local',
  endpoints: ['here-1', 'here-2', 'there-1'],
})
const noneHere = givenService('none-here', 8, { internalTrafficPolicy: 'Local', endpoints: ['there-1'] })
const noneHereUdp = givenService('none-here-udp', 9, {
  internalTrafficPolicy: 'Local',
  ports: [dnsUdp],
  endpoints: ['there-1'],
})
const notReady = givenService('not-ready', 10, { endpoints: [{ pod: 'here-1', is: 'not ready' }] })
const zoned = givenService('zoned', 11, {
  ports: [webPort, dnsUdp],
  endpoints: [
    { pod: 'here-1', forZones: [ownZone] },
    { pod: 'here-2', forZones: ['zone-b'] },
    { pod: 'there-1', forZones: ['zone-b', ownZone] },
    { pod: 'there-2', forZones: ['zone-b'] },
  ],
})
/** Hints count only when all have them. */
const halfZoned = givenService('half-zoned', 12, {
  endpoints: [{ pod: 'here-1', forZones: [ownZone] }, 'there-1', { pod: 'there-2', forZones: ['zone-b'] }],
})
const otherPort: PortFixture = { ...webPort, port: 81 }

export const clusterIpServices = [
  web,
  tls,
  dns,
  empty,
  emptyUdp,
  hereOnly,
  twoHere,
  noneHere,
  noneHereUdp,
  notReady,
  zoned,
  halfZoned,
]

export const clusterIpRows = [
  row(24, 'a pod reaches every endpoint of a ClusterIP and keeps its address', {
    from: 'caller',
    to: at('cluster IP', web),
    expect: reaches(everyone, 'client'),
  }),
  row(24, 'a pod reaches the endpoints that are meant for its zone, and no others', {
    from: 'caller',
    to: [at('cluster IP', zoned), at('cluster IP', zoned, dnsUdp)],
    expect: reaches(['here-1', 'there-1'], 'client'),
  }),
  row(24, 'a pod reaches every endpoint if some are not meant for any zone', {
    from: 'caller',
    to: at('cluster IP', halfZoned),
    expect: reaches(everyone, 'client'),
  }),
  row(25, 'a pod that reaches itself through its Service is masqueraded', {
    from: 'here-1',
    to: at('cluster IP', web),
    expect: {
      kind: 'reaches',
      each: [...reaches(['here-1'], 'node').each, ...reaches(['there-1', 'there-2'], 'client').each],
    },
  }),
  row(25, 'a pod that reaches itself through its UDP Service is masqueraded', {
    from: 'here-1',
    to: at('cluster IP', dns, dnsUdp),
    expect: { kind: 'reaches', each: [...reaches(['here-1'], 'node').each, ...reaches(['there-1'], 'client').each] },
  }),
  row(26, 'the node reaches every endpoint of a ClusterIP', {
    from: 'node',
    to: at('cluster IP', web),
    expect: reaches(everyone, 'node'),
  }),
  row(27, 'an outside client of a ClusterIP is masqueraded', {
    from: 'outside',
    to: at('cluster IP', web),
    expect: reaches(everyone, 'node'),
  }),
  row(28, 'a port that the Service does not have is not touched', {
    from: ['caller', 'outside'],
    to: at('cluster IP', web, otherPort),
    expect: untouched,
    only: 'iptables',
  }),
  row(34, 'a port that the Service does not have is refused', {
    from: ['caller', 'node', 'outside'],
    to: [at('cluster IP', web, otherPort), at('cluster IP', empty, otherPort), at('cluster IP', noneHere, otherPort)],
    expect: refused,
    only: ['nftables', 'ipvs'],
  }),
  row(29, 'the target port may differ from the port', {
    from: 'caller',
    to: at('cluster IP', tls),
    expect: reaches(['there-1'], 'client'),
  }),
  row(30, 'TCP and UDP on one port lead to their own targets', {
    from: 'caller',
    to: [at('cluster IP', dns, dnsTcp), at('cluster IP', dns, dnsUdp)],
    expect: reaches(['here-1', 'there-1'], 'client'),
  }),
  row(30, 'an outside UDP client of a ClusterIP is masqueraded', {
    from: ['outside', 'node'],
    to: at('cluster IP', dns, dnsUdp),
    expect: reaches(['here-1', 'there-1'], 'node'),
  }),
  row(31, 'UDP to a port that is TCP only is not touched', {
    from: 'caller',
    to: at('cluster IP', web, { ...webPort, protocol: 'UDP' }),
    expect: untouched,
    only: 'iptables',
  }),
  row(33, 'UDP to a port that is TCP only is refused', {
    from: ['caller', 'node', 'outside'],
    to: at('cluster IP', web, { ...webPort, protocol: 'UDP' }),
    expect: refused,
    only: ['nftables', 'ipvs'],
  }),
  row(32, 'the port of one Service on the address of another is not touched', {
    from: 'caller',
    to: [at('cluster IP', web, secure), at('cluster IP', tls, webPort)],
    expect: untouched,
    only: 'iptables',
  }),
  row(34, 'the port of one Service on the address of another is refused', {
    from: ['caller', 'node', 'outside'],
    to: [at('cluster IP', web, secure), at('cluster IP', tls, webPort)],
    expect: refused,
    only: ['nftables', 'ipvs'],
  }),
  row(35, 'an address of nobody in the ranges of Services is dropped', {
    from: ['caller', 'node', 'outside'],
    to: [at('unallocated cluster IP', web), at('unallocated cluster IP', dns, dnsUdp)],
    expect: dropped,
    only: 'nftables',
  }),
  row(36, 'an echo request to a ClusterIP is refused', {
    from: ['caller', 'node', 'outside'],
    to: at('cluster IP', web, ping),
    expect: refused,
    only: ['nftables', 'ipvs'],
  }),
  row(36, 'an echo request to an address of nobody in the ranges of Services is dropped', {
    from: ['caller', 'node', 'outside'],
    to: at('unallocated cluster IP', web, ping),
    expect: dropped,
    only: 'nftables',
  }),
  row(36, 'an echo request to a ClusterIP is not touched', {
    from: ['caller', 'node', 'outside'],
    to: at('cluster IP', web, ping),
    expect: untouched,
    only: 'iptables',
  }),
  row(39, 'a ClusterIP without endpoints refuses pods, the node and outside clients', {
    from: ['caller', 'node', 'outside'],
    to: [at('cluster IP', empty), at('cluster IP', emptyUdp)],
    expect: refused,
  }),
  row(44, 'an endpoint that is not ready does not count', {
    from: ['caller', 'node', 'outside'],
    to: at('cluster IP', notReady),
    expect: refused,
  }),
  row(80, 'internalTrafficPolicy Local leads pods to the endpoint of their node', {
    from: 'caller',
    to: at('cluster IP', hereOnly),
    expect: reaches(['here-1'], 'client'),
  }),
  row(81, 'internalTrafficPolicy Local uses all endpoints of the node', {
    from: 'caller',
    to: at('cluster IP', twoHere),
    expect: reaches(['here-1', 'here-2'], 'client'),
  }),
  row(82, 'internalTrafficPolicy Local without a local endpoint drops', {
    from: ['caller', 'node', 'outside'],
    to: [at('cluster IP', noneHere), at('cluster IP', noneHereUdp)],
    expect: dropped,
    only: byRules,
  }),
  row(62, 'internalTrafficPolicy Local without a local endpoint refuses', {
    from: ['caller', 'node', 'outside'],
    to: [at('cluster IP', noneHere), at('cluster IP', noneHereUdp)],
    expect: refused,
    only: 'ipvs',
  }),
  row(83, 'internalTrafficPolicy Local masquerades the node and outside clients', {
    from: ['node', 'outside'],
    to: at('cluster IP', hereOnly),
    expect: reaches(['here-1'], 'node'),
  }),
]
