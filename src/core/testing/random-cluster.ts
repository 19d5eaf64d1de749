/** Random Services on a random node. Few values, so that they meet: on addresses, ports, endpoints and node ports. */
import fc from 'fast-check'
import type { ServiceRecord, SliceRecord } from '../../api/records.ts'
import type { NodeView } from '../backend.ts'
import type { Route } from '../route.ts'
import { routesOf } from '../routing/router.ts'
import { usualPolicy } from '../routing/serving-policy.ts'
import { rawService, record, slice } from './objects.ts'
import type { Family } from '../../net/ip.ts'

/** This node. */
export const nodeName = 'here'

/** The addresses of a test, by family. */
export interface AddressPlan {
  readonly family: Family
  readonly node: readonly [string, string]
  readonly podCidr: string
  /** Of the bridge that pods of this node may be at. */
  readonly bridge: string
  readonly podsHere: readonly string[]
  readonly podsElsewhere: readonly string[]
  readonly clients: readonly string[]
  readonly serviceCidrs: readonly string[]
  readonly clusterIps: readonly string[]
  readonly externalIps: readonly string[]
  readonly loadBalancerIps: readonly string[]
  /** Nested, overlapping and alone; the first ones contain the node, the last one everybody. */
  readonly sourceRanges: readonly string[]
  readonly strangers: readonly string[]
}

export const addressPlans: Readonly<Record<Family, AddressPlan>> = {
  ipv4: {
    family: 'ipv4',
    node: ['198.51.100.10', '198.51.100.11'],
    podCidr: '10.77.0.0/16',
    bridge: '10.77.1.1',
    podsHere: ['10.77.1.5', '10.77.1.9', '10.77.1.10'],
    podsElsewhere: ['10.77.2.6', '10.77.2.7'],
    clients: ['198.18.5.9', '198.19.5.9'],
    serviceCidrs: ['10.112.0.0/24', '10.112.0.0/16', '10.113.0.0/24', '10.112.0.21/32'],
    clusterIps: ['10.112.0.21', '10.112.0.22', '10.112.0.23'],
    externalIps: ['192.0.2.60', '203.0.113.50', '10.112.0.21'],
    loadBalancerIps: ['203.0.113.50', '203.0.113.51', '10.112.0.22'],
    sourceRanges: [
      '198.51.100.0/24',
      '198.18.0.0/15',
      '198.18.0.0/16',
      '198.18.5.9/32',
      '10.77.1.0/24',
      '203.0.113.50/32',
      '0.0.0.0/0',
    ],
    strangers: ['10.112.0.99', '10.112.9.9', '10.113.0.9', '198.51.100.99'],
  },
  ipv6: {
    family: 'ipv6',
    node: ['2001:db8:ffff::10', '2001:db8:ffff::11'],
    podCidr: '2001:db8:77::/64',
    bridge: '2001:db8:77::1:1',
    podsHere: ['2001:db8:77::1:5', '2001:db8:77::1:9', '2001:db8:77::1:a'],
    podsElsewhere: ['2001:db8:77::2:6', '2001:db8:77::2:7'],
    clients: ['2001:db8:18::9', '2001:db8:19::9'],
    serviceCidrs: ['2001:db8:112::/112', '2001:db8:112::/108', '2001:db8:113::/112', '2001:db8:112::21/128'],
    clusterIps: ['2001:db8:112::21', '2001:db8:112::22', '2001:db8:112::23'],
    externalIps: ['2001:db8:60::60', '2001:db8:50::50', '2001:db8:112::21'],
    loadBalancerIps: ['2001:db8:50::50', '2001:db8:50::51', '2001:db8:112::22'],
    sourceRanges: [
      '2001:db8:ffff::/64',
      '2001:db8:18::/47',
      '2001:db8:18::/48',
      '2001:db8:18::9/128',
      '2001:db8:77::1:0/112',
      '2001:db8:50::50/128',
      '::/0',
    ],
    strangers: ['2001:db8:112::99', '2001:db8:112::9:9', '2001:db8:113::9', '2001:db8:ffff::99'],
  },
}

/** A Service and its endpoints. */
export interface ServiceObjects {
  readonly service: ServiceRecord
  readonly slice: SliceRecord
}

export const serviceNames = ['a', 'b', 'c', 'd'] as const

export function anyServiceObjects(plan: AddressPlan): fc.Arbitrary<ServiceObjects> {
  return fc
    .record({
      name: fc.constantFrom(...serviceNames),
      ports: fc.uniqueArray(anyPort, { minLength: 1, maxLength: 2, comparator: excludeEachOther }),
      clusterIP: fc.constantFrom(...plan.clusterIps),
      externalIPs: some(plan.externalIps),
      loadBalancerIPs: some(plan.loadBalancerIps),
      sourceRanges: some(plan.sourceRanges),
      affinitySeconds: fc.constantFrom(0, 0, 10_800, 60),
      internalTrafficPolicy: fc.constantFrom('Cluster', 'Local'),
      externalTrafficPolicy: fc.constantFrom('Cluster', 'Local'),
      annotations: anyTraffic(plan),
      endpoints: fc.uniqueArray(anyEndpoint(plan), { maxLength: 5, selector: ({ ip }) => ip, size: 'max' }),
    })
    .map((chosen) => objectsOf(plan, chosen))
}

/** Most want nothing. A Maglev table is too large to be written as often as random tests do it. */
function anyTraffic({ podsHere, podsElsewhere }: AddressPlan): fc.Arbitrary<Readonly<Record<string, string>>> {
  const [here, there] = [podsHere[0] ?? '', podsElsewhere[0] ?? '']
  const wish = (annotation: string, ...values: readonly (string | undefined)[]) =>
    fc.constantFrom(...values).map((value) => (value === undefined ? {} : { [`fairlead.dev/${annotation}`]: value }))
  const none = [undefined, undefined, undefined]
  return fc
    .tuple(
      wish('algorithm', ...none, ...none, 'random', 'round-robin', 'source-hash'),
      wish('ipvs-scheduler', ...none, ...none, ...none, 'mh', 'lblc'),
      // One for all: what overlaps is decided before there are Routes.
      wish('port-range', ...none, '400-500'),
      wish('weights', ...none, `ip:${here}=3, ip:${there}=6`, `node:there=2, ip:${here}=0, *=5`, '*=0'),
      wish('max-connections', ...none, ...none, '1', '10'),
      wish('max-dials-per-second', ...none, ...none, '1', '10'),
    )
    .map((wishes) => Object.assign({}, ...wishes) as Readonly<Record<string, string>>)
}

/** All ports of one Service, whoever else wants its addresses. */
function anyServiceRoutes(plan: AddressPlan): fc.Arbitrary<readonly Route[]> {
  const context = { family: plan.family, nodeName, zone: '', nodeIP: plan.node[0], policy: usualPolicy }
  return anyServiceObjects(plan).map(({ service, slice: endpoints }) => routesOf(service, [endpoints], context))
}

/** Each Service once. */
export function anyRoutes(plan: AddressPlan): fc.Arbitrary<ReadonlyMap<Route['key'], Route>> {
  return fc
    .array(anyServiceRoutes(plan), { maxLength: 4, size: 'max' })
    .map((services) => new Map(services.flat().map((route) => [route.key, route])))
}

export function anyServiceCidrs(plan: AddressPlan): fc.Arbitrary<readonly string[]> {
  return fc.subarray([...plan.serviceCidrs])
}

export function viewOf(
  plan: AddressPlan,
  routesByKey: ReadonlyMap<Route['key'], Route>,
  serviceCidrs: readonly string[],
): NodeView {
  return { family: plan.family, node: { name: nodeName, zone: '', ip: plan.node[0] }, routesByKey, serviceCidrs }
}

/** The API server takes no Service whose ports are these two. */
function excludeEachOther(left: ChosenPort, right: ChosenPort): boolean {
  if (left.name === right.name) return true
  if (left.protocol !== right.protocol) return false
  return left.port === right.port || (left.nodePort !== 0 && left.nodePort === right.nodePort)
}

const anyPort: fc.Arbitrary<ChosenPort> = fc.record({
  name: fc.constantFrom('x', 'y'),
  protocol: fc.constantFrom('TCP', 'TCP', 'TCP', 'TCP', 'UDP', 'SCTP'),
  port: fc.constantFrom(80, 80, 443),
  nodePort: fc.constantFrom(0, 30_080, 30_081),
})

function anyEndpoint({ podsHere, podsElsewhere, node }: AddressPlan) {
  return fc.record({
    // The last one is a pod in the network of this node.
    ip: fc.constantFrom(...podsHere, ...podsElsewhere, node[0]),
    state: fc.constantFrom('ready', 'ready', 'ready', 'terminating', 'not ready'),
  })
}

interface ChosenPort {
  readonly name: string
  readonly protocol: string
  readonly port: number
  readonly nodePort: number
}

interface ChosenService {
  readonly name: string
  readonly ports: readonly ChosenPort[]
  readonly clusterIP: string
  readonly externalIPs: readonly string[]
  readonly loadBalancerIPs: readonly string[]
  readonly sourceRanges: readonly string[]
  readonly affinitySeconds: number
  readonly internalTrafficPolicy: string
  readonly externalTrafficPolicy: string
  readonly annotations: Readonly<Record<string, string>>
  readonly endpoints: readonly { readonly ip: string; readonly state: string }[]
}

function objectsOf(plan: AddressPlan, chosen: ChosenService): ServiceObjects {
  const { name, ports, clusterIP, affinitySeconds, loadBalancerIPs, annotations } = chosen
  const isLoadBalancer = loadBalancerIPs.length > 0
  const hasNodePort = ports.some(({ nodePort }) => nodePort !== 0)
  const raw = rawService(
    `shop/${name}`,
    {
      type: isLoadBalancer ? 'LoadBalancer' : hasNodePort ? 'NodePort' : 'ClusterIP',
      clusterIP,
      clusterIPs: [clusterIP],
      ipFamilies: [plan.family === 'ipv4' ? 'IPv4' : 'IPv6'],
      ports,
      externalIPs: chosen.externalIPs,
      loadBalancerSourceRanges: chosen.sourceRanges,
      internalTrafficPolicy: chosen.internalTrafficPolicy,
      externalTrafficPolicy: chosen.externalTrafficPolicy,
      sessionAffinity: affinitySeconds === 0 ? 'None' : 'ClientIP',
      sessionAffinityConfig: { clientIP: { timeoutSeconds: affinitySeconds } },
    },
    { loadBalancer: { ingress: loadBalancerIPs.map((ip) => ({ ip })) } },
    { annotations },
  )
  const endpoints = slice(
    `shop/${name}-1`,
    name,
    chosen.endpoints.map(({ ip, state }) => ({
      addresses: [ip],
      nodeName: plan.podsElsewhere.includes(ip) ? 'there' : nodeName,
      conditions: { ready: state === 'ready', serving: state !== 'not ready', terminating: state === 'terminating' },
    })),
    ports.map((port) => ({ name: port.name, protocol: port.protocol, port: 8080 })),
    { addressType: plan.family === 'ipv4' ? 'IPv4' : 'IPv6' },
  )
  return { service: record('Service', raw), slice: endpoints }
}

/** None as often as any. */
function some(pool: readonly string[]): fc.Arbitrary<readonly string[]> {
  return fc.oneof(fc.constant([]), fc.shuffledSubarray([...pool], { minLength: 1, maxLength: 3 }))
}
