import { expect, test } from 'vitest'
import type { ServiceRecord } from '../../api/records.ts'
import { objectKey } from '../../api/records.ts'
import { OpenConnections } from '../open-connections.ts'
import type { Route } from '../route.ts'
import type { Flow } from '../sync/stale-flows.ts'
import { flowTargetsOf, selectStaleFlows } from '../sync/stale-flows.ts'
import { rawService, record, slice } from '../testing/objects.ts'
import { AddressClaims } from './address-claims.ts'
import { refusedTraffic } from './mode-abilities.ts'
import { portsText } from './port-ranges.ts'
import { routesOf } from './router.ts'
import { usualPolicy } from './serving-policy.ts'

const context = { family: 'ipv4', nodeName: 'here', zone: '', nodeIP: '10.200.0.2', policy: usualPolicy } as const
const externalIP = '203.0.113.9'

interface Wish {
  readonly range?: string
  readonly ports?: readonly (readonly [number, string])[]
  readonly clusterIP?: string
  readonly created?: string
  readonly nodePort?: number
}

function service(name: string, wish: Wish): ServiceRecord {
  const { range, ports = [[30_000, 'TCP']], clusterIP = '10.96.0.7', created, nodePort = 0 } = wish
  return record(
    'Service',
    rawService(
      name,
      {
        clusterIP,
        externalIPs: [externalIP],
        ports: ports.map(([port, protocol], index) => ({
          name: `p${index}`,
          port,
          protocol,
          nodePort: index === 0 ? nodePort : 0,
        })),
      },
      {},
      { creationTimestamp: created, annotations: range === undefined ? {} : { 'fairlead.dev/port-range': range } },
    ),
  )
}

const media = service('shop/media', { range: '30000-30100' })

function rangesOf(it: ServiceRecord, policy = usualPolicy): Readonly<Record<string, readonly string[]>> {
  const routes = routesOf(it, [], { ...context, policy })
  return Object.fromEntries(
    routes.flatMap(({ key, ranges }) =>
      ranges === undefined ? [] : [[key, ranges.map((range) => `${range.ip} ${portsText(range)}`)]],
    ),
  )
}

test('a Service without the annotation has Routes without ranges', () => {
  expect(routesOf(service('shop/web', {}), [], context).every((route) => !('ranges' in route))).toBe(true)
})

test('the range is at every address of the Service, without the port that carries it', () => {
  expect(rangesOf(media)).toEqual({
    'shop/media:p0/TCP': ['10.96.0.7 30001-30100', `${externalIP} 30001-30100`],
  })
})

test('the lowest port of a protocol carries the range, and ports that the Service lists are cut out', () => {
  const ports = [
    [30_050, 'TCP'],
    [30_020, 'TCP'],
    [30_021, 'TCP'],
    [30_100, 'UDP'],
    [80, 'TCP'],
  ] as const
  const at = (...pieces: readonly string[]) =>
    ['10.96.0.7', externalIP].flatMap((ip) => pieces.map((it) => `${ip} ${it}`))
  expect(rangesOf(service('shop/media', { range: '30000-30100', ports }))).toEqual({
    'shop/media:p1/TCP': at('30000-30019', '30022-30049', '30051-30100'),
    'shop/media:p3/UDP': at('30000-30099'),
  })
})

test("at an address of the node, the Service's own node port stays what it is", () => {
  const both = service('shop/media', { range: '30000-30100', nodePort: 30_050 })
  const at = (where: object) =>
    routesOf(both, [], { ...context, ...where })[0]?.ranges?.map((range) => `${range.ip} ${portsText(range)}`)
  const whole = ['10.96.0.7 30001-30100', `${externalIP} 30001-30100`]
  expect(at({})).toEqual(whole)
  const cut = ['10.96.0.7 30001-30100', `${externalIP} 30001-30049`, `${externalIP} 30051-30100`]
  expect(at({ nodeIP: externalIP })).toEqual(cut)
  expect(at({ nodeIPs: ['10.200.0.2', externalIP] })).toEqual(cut)
  const udp = service('shop/media', {
    range: '30000-30100',
    ports: [
      [30_050, 'UDP'],
      [30_000, 'TCP'],
    ],
    nodePort: 30_060,
  })
  const routes = routesOf(udp, [], { ...context, nodeIP: externalIP })
  const pieces = routes.map(({ ranges = [] }) => ranges.filter(({ ip }) => ip === externalIP).map(portsText))
  expect(pieces).toEqual([['30000-30049', '30051-30059', '30061-30100'], ['30001-30100']])
})

test('a mode that cannot do it says so, and serves the port itself', () => {
  const abilities = { ...usualPolicy.abilities, mode: 'ipvs', portRanges: false }
  expect(rangesOf(media, { ...usualPolicy, abilities })).toEqual({})
  expect(refusedTraffic(media, abilities)).toEqual(['fairlead.dev/port-range is ignored: the ipvs mode cannot do it'])
})

/** The claims that are refused, if Services come in this order, and whom each change concerns. */
function refusedAmong(...services: readonly ServiceRecord[]) {
  const known = new Map<ReturnType<typeof objectKey>, ServiceRecord>()
  const claims = new AddressClaims({
    family: 'ipv4',
    services: known,
    nodeIPs: () => [externalIP],
    apiServers: [],
    portRanges: true,
    allowExternalIPs: true,
    guard: { objectionTo: () => undefined, refuses: () => false, minds: () => false, modeBy: () => 'flags' },
  })
  const concerned = services.map((it) => {
    known.set(objectKey(it), it)
    return [...claims.replace(objectKey(it), undefined, it)]
  })
  const refused = services.flatMap((it) =>
    claims.judge(objectKey(it)).refused.map((claim) => `${objectKey(it)} ${claim.ip} ${portsText(claim)}`),
  )
  return { refused: refused.sort(), concerned }
}

const older = '2024-01-01T00:00:00Z'
const younger = '2025-01-01T00:00:00Z'

test.each([
  [
    'a range of an older Service takes a single port from a younger one',
    service('shop/a', { range: '30000-30100', created: older }),
    service('shop/b', { clusterIP: '10.96.0.8', ports: [[30_050, 'TCP']], created: younger }),
    [`shop/b ${externalIP} 30050`],
  ],
  [
    'a single port of an older Service takes the range from a younger one, which keeps its own port',
    service('shop/a', { range: '30000-30100', created: younger }),
    service('shop/b', { clusterIP: '10.96.0.8', ports: [[30_050, 'TCP']], created: older }),
    [`shop/a ${externalIP} 30000-30100`],
  ],
  [
    'of two ranges that overlap, the older one is served',
    service('shop/a', { range: '30000-30100', created: younger }),
    service('shop/b', { clusterIP: '10.96.0.8', ports: [[30_150, 'TCP']], range: '30100-30200', created: older }),
    [`shop/a ${externalIP} 30000-30100`],
  ],
  [
    'ranges next to each other, and of other protocols, do not meet',
    service('shop/a', { range: '30000-30100', created: younger }),
    service('shop/b', {
      clusterIP: '10.96.0.8',
      ports: [
        [30_101, 'TCP'],
        [30_102, 'UDP'],
      ],
      range: '30101-30200',
      created: older,
    }),
    [],
  ],
  [
    'a node port comes before a range at an address of the node',
    service('shop/a', { range: '30000-30100', created: older }),
    service('shop/b', { clusterIP: '10.96.0.8', ports: [[80, 'TCP']], nodePort: 30_080, created: younger }),
    [`shop/a ${externalIP} 30000-30100`],
  ],
] as const)('%s', (_sentence, one, two, refused) => {
  for (const order of [
    [one, two],
    [two, one],
  ] as const) {
    const found = refusedAmong(...order)
    expect(found.refused).toEqual(refused)
    // Whoever came first hears of the second one, if it takes something away from it.
    const losers = refused.map((text) => text.split(' ')[0]).filter((name) => name === objectKey(order[0]))
    expect(found.concerned[1]).toEqual(expect.arrayContaining(losers))
  }
})

test('a refused range is left out where it is refused', () => {
  const claim = { kind: 'externalIP', protocol: 'TCP', ip: externalIP, port: 30_000, lastPort: 30_100 } as const
  const refused = [{ ...claim, takenAs: 'externalIP', owner: objectKey(media) } as const]
  const [route] = routesOf(media, [], context, refused)
  expect(route?.ranges?.map(({ ip }) => ip)).toEqual(['10.96.0.7'])
  expect(route?.entrances.map((entrance) => ('ip' in entrance ? entrance.ip : ''))).toContain(externalIP)
})

const udp = service('shop/media', { range: '30000-30100', ports: [[30_000, 'UDP']], nodePort: 0 })
const endpoints = slice(
  'shop/media-1',
  'media',
  [{ addresses: ['10.64.0.1'] }],
  [{ name: 'p0', protocol: 'UDP', port: 5004 }],
)

function flow(to: readonly [string, number], from: readonly [string, number]): Flow {
  return {
    protocol: 17,
    original: { sourceIp: '10.64.9.9', sourcePort: 40_000, destinationIp: to[0], destinationPort: to[1] },
    reply: { sourceIp: from[0], sourcePort: from[1], destinationIp: '10.64.9.9', destinationPort: 40_000 },
  }
}

test.each([
  [30_050, ['10.64.0.1', 30_050], false],
  [30_050, ['10.64.0.2', 30_050], true],
  [30_050, ['10.64.0.1', 5004], true],
  [30_000, ['10.64.0.1', 5004], false],
  [30_000, ['10.64.0.1', 30_000], true],
  [30_101, ['10.64.0.2', 30_101], false],
] as const)('a flow to port %i that %j answers: stale is %s', (port, from, isStale) => {
  const routes = routesOf(udp, [endpoints], context)
  for (const ip of ['10.96.0.7', externalIP])
    expect(selectStaleFlows(flowTargetsOf(routes), [flow([ip, port], from)])).toHaveLength(isStale ? 1 : 0)
})

test('a node port of another Service makes no flow of a range stale', () => {
  const dns = service('shop/dns', { clusterIP: '10.96.0.8', ports: [[53, 'UDP']], nodePort: 30_050 })
  const other = slice('shop/dns-1', 'dns', [{ addresses: ['10.64.0.5'] }], [{ name: 'p0', protocol: 'UDP', port: 53 }])
  const routes: readonly Route[] = [...routesOf(udp, [endpoints], context), ...routesOf(dns, [other], context)]
  expect(selectStaleFlows(flowTargetsOf(routes), [flow(['10.96.0.7', 30_050], ['10.64.0.1', 30_050])])).toEqual([])
})

test('an open connection in the range counts for the Service, and for its endpoint', () => {
  const routes = routesOf(udp, [endpoints], context)
  const open = new OpenConnections(routes)
  open.add({ ...flow(['10.96.0.7', 30_050], ['10.64.0.1', 30_050]), isOpen: true })
  open.add({ ...flow(['10.96.0.7', 30_101], ['10.64.0.1', 30_101]), isOpen: true })
  expect([...open.traffic(false).values()]).toEqual([
    { open: 1, endpoints: new Map([['10.64.0.1:5004', { open: 1 }]]) },
  ])
})
