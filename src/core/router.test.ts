import { describe, expect, test } from 'vitest'
import type { Family } from '../net/ip.ts'
import { routesOf } from './router.ts'
import { usualPolicy } from './serving-policy.ts'
import type { RouterContext } from './router.ts'
import { service, slice } from './testing/objects.ts'

const context: RouterContext = {
  family: 'ipv4',
  nodeName: 'here',
  zone: '',
  nodeIP: '10.200.0.2',
  policy: usualPolicy,
}
const v6 = { ...context, family: 'ipv6' as Family, nodeIP: 'fd00:200::2' }
const dual = { clusterIP: '10.96.0.1', clusterIPs: ['10.96.0.1', 'fd00:96::1'], ipFamilies: ['IPv4', 'IPv6'] }

describe('the routes of a Service', () => {
  test('are one for each port and protocol', () => {
    const ports = [
      { name: 'dns', port: 53, protocol: 'UDP' },
      { name: 'dns', port: 53, protocol: 'TCP' },
    ]
    const routes = routesOf(service('demo/dns', { clusterIP: '10.96.0.1', ports }), [], context)
    expect(routes.map(({ key }) => key)).toEqual(['demo/dns:dns/UDP', 'demo/dns:dns/TCP'])
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
      externalIPs: ['192.0.2.1'],
      loadBalancerIPs: ['192.0.2.7'],
      sourceRanges: ['10.0.0.0/8'],
      endpoints: [{ address: '10.0.0.1:8080' }],
    })
    expect(routesOf(web, slices, v6)[0]).toMatchObject({
      clusterIP: 'fd00:96::1',
      externalIPs: ['fd00::9'],
      loadBalancerIPs: ['fd00::7'],
      sourceRanges: ['fd00:1::/64'],
      endpoints: [{ address: '[fd00:10::1]:8080' }],
    })
  })

  test('are open to everybody when one range of the family is open, or when all ranges are of the other family', () => {
    const ranges = (loadBalancerSourceRanges: string[]) =>
      service('demo/web', { ...dual, ports: [{ port: 80 }], loadBalancerSourceRanges })
    const open = ranges(['10.0.0.0/8', '0.0.0.0/0', 'fd00::/64'])
    expect(routesOf(open, [], context)[0]?.sourceRanges).toBeUndefined()
    expect(routesOf(open, [], v6)[0]?.sourceRanges).toEqual(['fd00::/64'])
    expect(routesOf(ranges(['10.0.0.0/8']), [], v6)[0]?.sourceRanges).toBeUndefined()
  })

  test('are open to nobody when a range cannot be read and no other allows anybody', () => {
    const ranges = (loadBalancerSourceRanges: unknown) =>
      service('demo/web', { ...dual, ports: [{ port: 80 }], loadBalancerSourceRanges })
    for (const unreadable of [['10.0.0/8'], '10.0.0.0/8', [8]]) {
      expect(routesOf(ranges(unreadable), [], context)[0]?.sourceRanges).toEqual([])
      expect(routesOf(ranges(unreadable), [], v6)[0]?.sourceRanges).toEqual([])
    }
    expect(routesOf(ranges(['10.0.0.0/8', 'x']), [], context)[0]?.sourceRanges).toEqual(['10.0.0.0/8'])
    expect(routesOf(ranges(['10.0.0.0/8', 'x']), [], v6)[0]?.sourceRanges).toEqual([])
    expect(routesOf(ranges(['0.0.0.0/0', 'x']), [], context)[0]?.sourceRanges).toBeUndefined()
  })

  test('are open to nobody when all ranges are of the other family and the administrator is strict', () => {
    const strict = { ...usualPolicy, strictSourceRanges: true }
    const ranged = service('demo/web', { ...dual, ports: [{ port: 80 }], loadBalancerSourceRanges: ['10.0.0.0/8'] })
    expect(routesOf(ranged, [], { ...v6, policy: strict })[0]?.sourceRanges).toEqual([])
    expect(routesOf(ranged, [], { ...context, policy: strict })[0]?.sourceRanges).toEqual(['10.0.0.0/8'])
    const open = service('demo/web', { ...dual, ports: [{ port: 80 }] })
    expect(routesOf(open, [], { ...context, policy: strict })[0]?.sourceRanges).toBeUndefined()
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
    const ranged = (range: string) =>
      service('demo/web', { ...dual, ports: [{ port: 80 }], loadBalancerSourceRanges: [range] })
    expect(routesOf(ranged('10.200.0.0/24'), [], context)[0]?.sourceRangesCoverNode).toBe(true)
    expect(routesOf(ranged('10.201.0.0/24'), [], context)[0]?.sourceRangesCoverNode).toBe(false)
  })

  test('stay externally accessible when a feature gate hides their external IPs', () => {
    const web = service('demo/web', { clusterIP: '10.96.0.1', ports: [{ port: 80 }], externalIPs: ['192.0.2.1'] })
    const [route] = routesOf(web, [], { ...context, policy: { ...usualPolicy, allowExternalIPs: false } })
    expect(route).toMatchObject({ externalIPs: [], isExternallyAccessible: true })
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

  test('are local when they name this node exactly', () => {
    const on = (nodeName: string) => ({ addresses: ['10.0.0.1'], nodeName })
    const isLocal = (nodeName: string) =>
      routesOf(web, [slice('demo/a', 'web', [on(nodeName)])], context)[0]?.endpoints[0]?.isLocal
    expect([isLocal('here'), isLocal('Here'), isLocal('')]).toEqual([true, false, false])
  })
})
