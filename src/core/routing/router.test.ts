import { describe, expect, test } from 'vitest'
import type { ServiceRecord } from '../../api/records.ts'
import type { AllowedSources } from '../route.ts'
import type { Family } from '../../net/ip.ts'
import type { RefusedClaim } from './address-claims.ts'
import { routesOf } from './router.ts'
import { usualPolicy } from './serving-policy.ts'
import type { RouterContext } from './router.ts'
import { service, slice } from '../testing/objects.ts'
import { addressesOf, nodePortOf } from '../testing/routes.ts'

const context: RouterContext = {
  family: 'ipv4',
  nodeName: 'here',
  zone: '',
  nodeIP: '10.200.0.2',
  policy: usualPolicy,
}
const v6 = { ...context, family: 'ipv6' as Family, nodeIP: 'fd00:200::2' }
const dual = { clusterIP: '10.96.0.1', clusterIPs: ['10.96.0.1', 'fd00:96::1'], ipFamilies: ['IPv4', 'IPv6'] }

/** With addresses of a load balancer. */
function balanced(spec: object): ServiceRecord {
  const ingress = [{ ip: '192.0.2.7' }, { ip: 'fd00::7' }]
  const whole = { ...dual, type: 'LoadBalancer', ports: [{ port: 80 }], ...spec }
  return service('demo/web', whole, { loadBalancer: { ingress } })
}

/** Who may use them. */
function allowedBy(record: ServiceRecord, where: RouterContext): AllowedSources | undefined {
  return routesOf(record, [], where)[0]?.entrances.find(({ kind }) => kind === 'load-balancer-ip')?.allowed
}

describe('the routes of a Service', () => {
  test('are one for each port and protocol', () => {
    const ports = [
      { name: 'dns', port: 53, protocol: 'UDP' },
      { name: 'dns', port: 53, protocol: 'TCP' },
    ]
    const routes = routesOf(service('demo/dns', { clusterIP: '10.96.0.1', ports }), [], context)
    expect(routes.map(({ key }) => key)).toEqual(['demo/dns:dns/UDP', 'demo/dns:dns/TCP'])
  })

  test('are none where it has no cluster IP of the family, or no ports', () => {
    const four = service('demo/four', { clusterIP: '10.96.0.1', ports: [{ port: 80 }] })
    expect(routesOf(four, [], v6)).toEqual([])
    expect(routesOf(service('demo/headless', { clusterIP: 'None', ports: [{ port: 80 }] }), [], context)).toEqual([])
    expect(routesOf({ ...four, ports: [] }, [], context)).toEqual([])
  })

  test('leave out what was refused to it, each address, port and protocol for itself', () => {
    const ports = [
      { name: 'a', port: 80, protocol: 'TCP', nodePort: 30_080 },
      { name: 'a', port: 80, protocol: 'UDP', nodePort: 30_080 },
      { name: 'b', port: 81, protocol: 'TCP', nodePort: 30_081 },
    ]
    const spec = { clusterIP: '10.96.0.1', type: 'LoadBalancer', ports, externalIPs: ['192.0.2.1', '192.0.2.2'] }
    const web = service('demo/web', spec, { loadBalancer: { ingress: [{ ip: '192.0.2.7' }, { ip: '192.0.2.8' }] } })
    const claim = (rest: Pick<RefusedClaim, 'kind' | 'protocol' | 'ip' | 'port'>): RefusedClaim => ({
      takenAs: rest.kind,
      owner: 'demo/other' as never,
      ...rest,
    })
    const entrances = (...refused: RefusedClaim[]) =>
      routesOf(web, [], context, refused).map(
        (it) =>
          `${it.portName}/${it.protocol} ${nodePortOf(it)} ${[
            ...addressesOf(it, 'external-ip'),
            ...addressesOf(it, 'load-balancer-ip'),
          ]
            .map((ip) => ip.slice('192.0.2.'.length))
            .join(' ')}`,
      )
    const all = ['a/TCP 30080 1 2 7 8', 'a/UDP 30080 1 2 7 8', 'b/TCP 30081 1 2 7 8']
    expect(entrances()).toEqual(all)
    expect(
      entrances(
        claim({ kind: 'externalIP', protocol: 'TCP', ip: '192.0.2.1', port: 80 }),
        claim({ kind: 'loadBalancerIP', protocol: 'TCP', ip: '192.0.2.8', port: 80 }),
        claim({ kind: 'nodePort', protocol: 'UDP', port: 30_080 }),
      ),
    ).toEqual(['a/TCP 30080 2 7', 'a/UDP undefined 1 2 7 8', all[2]])
    expect(entrances(claim({ kind: 'clusterIP', protocol: 'TCP', ip: '10.96.0.1', port: 81 }))).toEqual(all.slice(0, 2))
  })

  test('see only the addresses of their own family', () => {
    const web = service(
      'demo/web',
      {
        ...dual,
        type: 'LoadBalancer',
        ports: [{ port: 80 }],
        externalIPs: ['192.0.2.1', 'fd00::9'],
        loadBalancerSourceRanges: ['10.0.0.0/8', 'fd00:1::/64'],
      },
      { loadBalancer: { ingress: [{ ip: '192.0.2.7' }, { ip: 'fd00::7' }] } },
    )
    const slices = [slice('demo/web-4', 'web', ['10.0.0.1']), slice('demo/web-6', 'web', ['fd00:10::1'])]
    expect(routesOf(web, slices, context)[0]).toMatchObject({
      clusterIP: '10.96.0.1',
      entrances: [
        { kind: 'cluster-ip', ip: '10.96.0.1' },
        { kind: 'external-ip', ip: '192.0.2.1' },
        { kind: 'load-balancer-ip', ip: '192.0.2.7', allowed: { ranges: ['10.0.0.0/8'] } },
      ],
      endpoints: [{ address: '10.0.0.1:8080' }],
    })
    expect(routesOf(web, slices, v6)[0]).toMatchObject({
      clusterIP: 'fd00:96::1',
      entrances: [
        { kind: 'cluster-ip', ip: 'fd00:96::1' },
        { kind: 'external-ip', ip: 'fd00::9' },
        { kind: 'load-balancer-ip', ip: 'fd00::7', allowed: { ranges: ['fd00:1::/64'] } },
      ],
      endpoints: [{ address: '[fd00:10::1]:8080' }],
    })
  })

  test('are open to everybody when one range of the family is open, or when all ranges are of the other family', () => {
    const ranges = (loadBalancerSourceRanges: string[]) => balanced({ loadBalancerSourceRanges })
    const open = ranges(['10.0.0.0/8', '0.0.0.0/0', 'fd00::/64'])
    expect(allowedBy(open, context)?.ranges).toBeUndefined()
    expect(allowedBy(open, v6)?.ranges).toEqual(['fd00::/64'])
    expect(allowedBy(ranges(['10.0.0.0/8']), v6)?.ranges).toBeUndefined()
  })

  test('are open to nobody when a range cannot be read and no other allows anybody', () => {
    const ranges = (loadBalancerSourceRanges: unknown) => balanced({ loadBalancerSourceRanges })
    for (const unreadable of [['10.0.0/8'], '10.0.0.0/8', [8]]) {
      expect(allowedBy(ranges(unreadable), context)?.ranges).toEqual([])
      expect(allowedBy(ranges(unreadable), v6)?.ranges).toEqual([])
    }
    expect(allowedBy(ranges(['10.0.0.0/8', 'x']), context)?.ranges).toEqual(['10.0.0.0/8'])
    expect(allowedBy(ranges(['10.0.0.0/8', 'x']), v6)?.ranges).toEqual([])
    expect(allowedBy(ranges(['0.0.0.0/0', 'x']), context)?.ranges).toBeUndefined()
  })

  test('are open to nobody when all ranges are of the other family and the administrator is strict', () => {
    const strict = { ...usualPolicy, strictSourceRanges: true }
    const ranged = balanced({ loadBalancerSourceRanges: ['10.0.0.0/8'] })
    expect(allowedBy(ranged, { ...v6, policy: strict })?.ranges).toEqual([])
    expect(allowedBy(ranged, { ...context, policy: strict })?.ranges).toEqual(['10.0.0.0/8'])
    const open = balanced({})
    expect(allowedBy(open, { ...context, policy: strict })?.ranges).toBeUndefined()
  })

  test('have loopback addresses only where no kernel leads there', () => {
    const web = service('demo/web', { clusterIP: '10.96.0.1', ports: [{ port: 80 }] })
    const here = service('demo/here', { clusterIP: '127.0.0.5', ports: [{ port: 80 }] })
    const slices = [slice('demo/web', 'web', ['127.0.0.1', '10.0.0.1'])]
    const onLoopback = { ...context, policy: { ...usualPolicy, allowLoopback: true } }
    expect(routesOf(web, slices, context)[0]?.endpoints.map(({ ip }) => ip)).toEqual(['10.0.0.1'])
    expect(routesOf(web, slices, onLoopback)[0]?.endpoints.map(({ ip }) => ip)).toEqual(['10.0.0.1', '127.0.0.1'])
    expect(routesOf(here, [], context)).toEqual([])
    expect(routesOf(here, [], onLoopback)).toHaveLength(1)
  })

  test('know whether their source ranges contain this node', () => {
    const ranged = (range: string) => balanced({ loadBalancerSourceRanges: [range] })
    expect(allowedBy(ranged('10.200.0.0/24'), context)?.ownAddresses).toEqual(['192.0.2.7'])
    expect(allowedBy(ranged('10.201.0.0/24'), context)?.ownAddresses).toEqual([])
    expect(allowedBy(ranged('0.0.0.0/0'), context)).toBeUndefined()
    const loadBalancerSourceRanges = ['10.201.0.0/24', '10.200.0.0/24']
    const two = balanced({ loadBalancerSourceRanges })
    expect(allowedBy(two, context)?.ownAddresses).toEqual(['192.0.2.7'])
  })

  test('stay externally accessible when a feature gate hides their external IPs', () => {
    const web = service('demo/web', { clusterIP: '10.96.0.1', ports: [{ port: 80 }], externalIPs: ['192.0.2.1'] })
    const [route] = routesOf(web, [], { ...context, policy: { ...usualPolicy, allowExternalIPs: false } })
    expect(route?.entrances.map(({ kind }) => kind)).toEqual(['cluster-ip'])
    expect(route?.external).toBeDefined()
  })

  test('are accessible from outside by a node port, an external IP or a load-balancer IP', () => {
    const isAccessible = (spec: object, status = {}) =>
      routesOf(service('demo/web', { clusterIP: '10.96.0.1', ports: [{ port: 80 }], ...spec }, status), [], context)[0]
        ?.external !== undefined
    expect(isAccessible({})).toBe(false)
    expect(isAccessible({ type: 'NodePort', ports: [{ port: 80, nodePort: 30_080 }] })).toBe(true)
    expect(isAccessible({ externalIPs: ['192.0.2.1'] })).toBe(true)
    expect(isAccessible({ type: 'LoadBalancer' }, { loadBalancer: { ingress: [{ ip: '192.0.2.7' }] } })).toBe(true)
  })

  test.each([
    // The traffic policies, whether somebody can come from outside; the endpoints for the cluster, and for this node.
    ['Cluster', 'Cluster', true, '12', ''],
    ['Cluster', 'Cluster', false, '12', ''],
    ['Cluster', 'Local', true, '12', '1'],
    ['Cluster', 'Local', false, '12', ''],
    ['Local', 'Cluster', true, '12', '1'],
    ['Local', 'Cluster', false, '', '1'],
    ['Local', 'Local', true, '12', '1'],
    ['Local', 'Local', false, '', '1'],
  ])(
    'with policies %s and %s, open to the outside: %s, have endpoints "%s", local ones "%s"',
    (internal, external, isOpen, cluster, local) => {
      const web = service('demo/web', {
        type: 'NodePort',
        internalTrafficPolicy: internal,
        externalTrafficPolicy: external,
        clusterIP: '10.96.0.1',
        ports: [{ port: 80, ...(isOpen && { nodePort: 30_080 }) }],
      })
      const endpoints = [{ addresses: ['10.0.0.1'], nodeName: 'here' }, '10.0.0.2']
      const [route] = routesOf(web, [slice('demo/web-1', 'web', endpoints)], context)
      const names = (list: readonly { ip: string }[] = []) => list.map(({ ip }) => ip.at(-1)).join('')
      expect([names(route?.clusterEndpoints), names(route?.localEndpoints)]).toEqual([cluster, local])
    },
  )

  test("prefer the endpoints that are meant for this node's zone", () => {
    const web = service('demo/web', { clusterIP: '10.96.0.1', ports: [{ port: 80 }] })
    const hinted = (ip: string, zone: string) => ({ addresses: [ip], hints: { forZones: [{ name: zone }] } })
    const slices = [slice('demo/web-1', 'web', [hinted('10.0.0.1', 'zone-a'), hinted('10.0.0.2', 'zone-b')])]
    expect(routesOf(web, slices, { ...context, zone: 'zone-b' })[0]).toMatchObject({
      topology: 'PreferSameZone',
      clusterEndpoints: [{ ip: '10.0.0.2' }],
    })
  })

  test('say how they shall be relayed if the Service does', () => {
    const web = service('demo/web', { clusterIP: '10.96.0.1', ports: [{ port: 80 }] })
    const relaying = { proxyProtocol: true } as never
    expect(routesOf(web, [], context)[0]?.relaying).toBeUndefined()
    expect(routesOf({ ...web, relaying }, [], context)[0]).toHaveProperty('relaying', relaying)
  })

  test('weigh endpoints by the rules of the slice, then by those of the Service', () => {
    const weights = [
      { of: 'node', name: 'here', weight: 0 },
      { of: 'every', name: '', weight: 5 },
    ] as const
    const web = { ...service('demo/web', { clusterIP: '10.96.0.1', ports: [{ port: 80 }] }), traffic: { weights } }
    const slices = [
      slice('demo/web-1', 'web', ['10.0.0.1', { addresses: ['10.0.0.2'], nodeName: 'here' }]),
      { ...slice('demo/web-2', 'web', ['10.0.0.3']), weights: [{ of: 'ip', name: '10.0.0.3', weight: 7 }] as const },
    ]
    const weightsIn = (where: RouterContext) => routesOf(web, slices, where)[0]?.endpoints.map(({ weight }) => weight)
    expect(weightsIn(context)).toEqual([5, 0, 7])
    // A mode that knows no weights can still leave an endpoint alone.
    const abilities = { ...usualPolicy.abilities, weights: false }
    expect(weightsIn({ ...context, policy: { ...usualPolicy, abilities } })).toEqual([1, 0, 1])
  })

  test('have what the mode can do of the wishes of the Service', () => {
    const web = service('demo/web', { clusterIP: '10.96.0.1', ports: [{ port: 80 }] })
    expect(routesOf(web, [], context)[0]?.traffic).toBeUndefined()
    const traffic = { algorithm: 'maglev', maxConnections: 5, healthCheck: { kind: 'tcp' } } as const
    expect(routesOf({ ...web, traffic }, [], context)[0]?.traffic).toEqual({ algorithm: 'maglev', maxConnections: 5 })
  })

  test('say what the Service wishes at the sockets of clients', () => {
    const web = service('demo/web', { clusterIP: '10.96.0.1', ports: [{ port: 80 }] })
    expect(routesOf(web, [], context)[0]?.sockets).toBeUndefined()
    expect(routesOf({ ...web, sockets: { balancing: 'off' } }, [], context)[0]?.sockets).toEqual({ balancing: 'off' })
  })

  test('say what the Service wishes of a Windows node', () => {
    const web = service('demo/web', { clusterIP: '10.96.0.1', ports: [{ port: 80 }] })
    expect(routesOf(web, [], context)[0]?.windows).toBeUndefined()
    expect(routesOf({ ...web, windows: { rebuilds: true } }, [], context)[0]?.windows).toEqual({ rebuilds: true })
  })

  test('follow policy Cluster outside when nobody can come from outside', () => {
    const web = service('demo/web', {
      type: 'NodePort',
      externalTrafficPolicy: 'Local',
      clusterIP: '10.96.0.1',
      ports: [{ port: 80 }],
    })
    const slices = [slice('demo/web-1', 'web', ['10.0.0.1', '10.0.0.2'])]
    expect(routesOf(web, slices, context)[0]).toMatchObject({ localEndpoints: [], clusterEndpoints: [{}, {}] })
  })
})

describe('the endpoints of a route', () => {
  const web = service('demo/web', { clusterIP: '10.96.0.1', ports: [{ port: 80 }] })
  const addresses = (...slices: ReturnType<typeof slice>[]) =>
    routesOf(web, slices, context)[0]?.endpoints.map(({ address }) => address)

  test('are sorted by their text', () => {
    expect(addresses(slice('demo/a', 'web', ['10.0.1.2', '10.0.1.1', '10.0.1.10'], [80]))).toEqual([
      '10.0.1.10:80',
      '10.0.1.1:80',
      '10.0.1.2:80',
    ])
  })

  test('are the union of all slices, each address and port once', () => {
    expect(
      addresses(slice('demo/a', 'web', ['10.0.0.1', '10.0.0.2'], [80]), slice('demo/b', 'web', ['10.0.0.2'], [80, 81])),
    ).toEqual(['10.0.0.1:80', '10.0.0.2:80', '10.0.0.2:81'])
  })

  test('that appear twice are the one that is not shutting down, whatever the order', () => {
    const running = { addresses: ['10.0.0.1'] }
    const leaving = { addresses: ['10.0.0.1'], conditions: { ready: false, serving: true, terminating: true } }
    const gone = { addresses: ['10.0.0.1'], conditions: { ready: false, serving: false, terminating: true } }
    for (const order of [
      [leaving, running, gone],
      [running, gone, leaving],
      [gone, leaving, running],
    ])
      expect(routesOf(web, [slice('demo/a', 'web', order)], context)[0]?.endpoints).toMatchObject([
        { terminating: false },
      ])
  })

  test('that appear twice are the last by the name of the slice, whatever the order', () => {
    const on = (nodeName: string) => [{ addresses: ['10.0.0.1'], nodeName }]
    const slices = [
      slice('demo/b', 'web', on('second')),
      slice('demo/c', 'web', on('last')),
      slice('demo/a', 'web', on('first')),
    ]
    for (const order of [
      slices,
      slices.toReversed(),
      slices.toSorted((left, right) => (left.name < right.name ? -1 : 1)),
    ])
      expect(routesOf(web, order, context)[0]?.endpoints).toMatchObject([{ nodeName: 'last' }])
  })

  test('are there while they shut down', () => {
    const leaving = { addresses: ['10.0.0.1'], conditions: { ready: false, serving: true, terminating: true } }
    expect(addresses(slice('demo/a', 'web', [leaving]))).toEqual(['10.0.0.1:8080'])
  })

  test('are those of its port, by name and protocol', () => {
    const named = service('demo/web', {
      clusterIP: '10.96.0.1',
      ports: [
        { name: 'dns', port: 53, protocol: 'UDP' },
        { name: 'dns', port: 53, protocol: 'TCP' },
        { name: 'web', port: 80 },
      ],
    })
    const ports = [
      { name: 'web', port: 8080, protocol: 'TCP' },
      { name: 'dns', port: 5353, protocol: 'UDP' },
      { name: 'dns', port: 5354, protocol: 'TCP' },
    ]
    const routes = routesOf(named, [slice('demo/a', 'web', ['10.0.0.1'], ports)], context)
    expect(routes.map(({ endpoints }) => endpoints.map(({ port }) => port))).toEqual([[5353], [5354], [8080]])
  })

  test('are never local on a node without a name', () => {
    const slices = [slice('demo/a', 'web', ['10.0.0.1'])]
    expect(routesOf(web, slices, { ...context, nodeName: '' })[0]?.endpoints).toMatchObject([{ isLocal: false }])
  })

  test('are local when they name this node exactly', () => {
    const on = (nodeName: string) => ({ addresses: ['10.0.0.1'], nodeName })
    const isLocal = (nodeName: string) =>
      routesOf(web, [slice('demo/a', 'web', [on(nodeName)])], context)[0]?.endpoints[0]?.isLocal
    expect([isLocal('here'), isLocal('Here'), isLocal('')]).toEqual([true, false, false])
  })
})
