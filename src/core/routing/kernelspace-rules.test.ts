import { describe, expect, test } from 'vitest'
import type { ServiceRecord } from '../../api/records.ts'
import type { Entrance } from '../route.ts'
import { service, slice } from '../testing/objects.ts'
import { routesOf } from './router.ts'
import type { RouterContext } from './router.ts'
import { usualPolicy } from './serving-policy.ts'

const context: RouterContext = {
  family: 'ipv4',
  nodeName: 'win-a',
  zone: 'a',
  nodeIP: '172.30.7.11',
  policy: { ...usualPolicy, endpointRules: 'kernelspace' },
}

/** `10.61.2.7 leaving here`: pods of this node are `here`. */
function endpoint(description: string): object {
  const [ip, ...traits] = description.split(' ')
  const has = (trait: string) => traits.includes(trait)
  return {
    addresses: [ip],
    nodeName: has('here') ? 'win-a' : 'win-b',
    conditions: {
      ready: !has('leaving') && !has('gone') && !has('unready'),
      serving: !has('gone') && !has('unready') && !has('published'),
      terminating: has('leaving') || has('gone'),
    },
    hints: { forZones: traits.filter((it) => it.startsWith('zone-')).map((it) => ({ name: it.slice(5) })) },
  }
}

const node = { clusterIP: '10.112.0.20', type: 'NodePort', ports: [{ port: 80, nodePort: 31_080 }] }
const outside = { ...node, externalIPs: ['198.51.100.9'] }
const local = { externalTrafficPolicy: 'Local' }

function balanced(spec: object = {}): ServiceRecord {
  const ingress = [{ ip: '203.0.113.40' }]
  return service('demo/web', { ...outside, type: 'LoadBalancer', ...spec }, { loadBalancer: { ingress } })
}

function routeTo(web: ServiceRecord, endpoints: readonly string[], where = context) {
  const [route] = routesOf(web, [slice('demo/web-1', 'web', endpoints.map(endpoint) as never)], where)
  if (route === undefined) throw new Error('no route')
  return route
}

/** Who serves at each entrance, or what happens there instead: `cluster-ip: 10.61.1.5, node-port: reject`. */
function served(web: ServiceRecord, endpoints: readonly string[], side: 'inside' | 'outside' = 'outside') {
  const at = (entrance: Entrance) => {
    const outcome = entrance[side]
    return outcome.kind === 'forward' ? outcome.to.map(({ ip }) => ip).join(' ') : outcome.kind
  }
  return Object.fromEntries(routeTo(web, endpoints).entrances.map((entrance) => [entrance.kind, at(entrance)]))
}

const everywhere = (who: string) => ({
  'cluster-ip': who,
  'external-ip': who,
  'load-balancer-ip': who,
  'node-port': who,
})

describe('a Service without load-balancer IPs', () => {
  const web = service('demo/web', outside)

  test('never uses endpoints that terminate, not even as last resort', () => {
    const { 'load-balancer-ip': _, ...nobody } = everywhere('reject')
    expect(served(web, ['10.61.1.5 leaving here', '10.61.2.7 leaving'])).toEqual(nobody)
  })

  test('skips one that is published as ready but does not serve', () => {
    expect(served(web, ['10.61.2.7 published', '10.61.2.8'])).toMatchObject({ 'cluster-ip': '10.61.2.8' })
    expect(served(web, ['10.61.2.7 published'])).toMatchObject({ 'cluster-ip': 'reject', 'node-port': 'reject' })
  })
})

describe('a Service with load-balancer IPs', () => {
  test('uses terminating endpoints when nothing else is left, and closes node port and external IPs', () => {
    expect(served(balanced(), ['10.61.2.7 leaving', '10.61.2.8 leaving', '10.61.2.9 gone'])).toEqual({
      'cluster-ip': '10.61.2.7 10.61.2.8',
      'external-ip': 'reject',
      'load-balancer-ip': '10.61.2.7 10.61.2.8',
      'node-port': 'reject',
    })
  })

  test('uses the ready ones alone while there are some', () => {
    expect(served(balanced(), ['10.61.2.7', '10.61.2.8 leaving', '10.61.2.9 unready'])).toEqual(everywhere('10.61.2.7'))
  })

  test('uses unready ones when nothing serves', () => {
    expect(served(balanced(), ['10.61.2.7 unready', '10.61.2.8 unready'])).toEqual({
      'cluster-ip': '10.61.2.7 10.61.2.8',
      'external-ip': 'reject',
      'load-balancer-ip': '10.61.2.7 10.61.2.8',
      'node-port': 'reject',
    })
  })

  test('has nobody where there are no endpoints', () => {
    expect(served(balanced(), [])).toEqual(everywhere('reject'))
  })

  test('with an unready one beside terminating ones uses those that serve', () => {
    expect(served(balanced(), ['10.61.2.7 leaving', '10.61.2.8 unready'])).toMatchObject({
      'cluster-ip': '10.61.2.7',
      'node-port': 'reject',
    })
  })

  test('keeps the address of the load balancer open, even if it is named as external IP, too', () => {
    const web = balanced({ externalIPs: ['203.0.113.40'] })
    expect(served(web, ['10.61.2.7 leaving'])).toMatchObject({ 'external-ip': '10.61.2.7', 'node-port': 'reject' })
  })
})

describe('under policy Local', () => {
  test('an unready endpoint elsewhere stays out, although no endpoint is here', () => {
    expect(served(balanced(local), ['10.61.2.7', '10.61.2.8 unready'])).toEqual({
      'cluster-ip': '10.61.2.7',
      'external-ip': 'drop',
      'load-balancer-ip': 'drop',
      'node-port': 'drop',
    })
  })

  test('terminating endpoints here are the last resort of this node, whatever is ready elsewhere', () => {
    expect(served(balanced(local), ['10.61.1.5 leaving here', '10.61.2.7'])).toEqual({
      'cluster-ip': '10.61.2.7',
      'external-ip': 'reject',
      'load-balancer-ip': '10.61.1.5',
      'node-port': 'reject',
    })
  })

  test('clients inside, and a node that cannot tell them apart, follow policy Cluster', () => {
    expect(served(balanced(local), ['10.61.1.5 here', '10.61.2.7'], 'inside')).toEqual(
      everywhere('10.61.1.5 10.61.2.7'),
    )
    expect(served(balanced(local), ['10.61.2.7 leaving'], 'inside')).toMatchObject({
      'load-balancer-ip': '10.61.2.7',
      'node-port': 'reject',
    })
  })

  test('of internal traffic the cluster IP has the endpoints here', () => {
    const web = balanced({ internalTrafficPolicy: 'Local' })
    expect(served(web, ['10.61.1.5 here', '10.61.1.6 leaving here', '10.61.2.7'])).toEqual({
      ...everywhere('10.61.1.5 10.61.2.7'),
      'cluster-ip': '10.61.1.5',
    })
  })
})

describe('a destination that is preserved', () => {
  const web = { ...balanced(), windows: { preservesDestination: true } } as const

  test('is served on this node, at node port and load-balancer IPs', () => {
    expect(served(web, ['10.61.1.5 here', '10.61.2.7'])).toEqual({
      ...everywhere('10.61.1.5 10.61.2.7'),
      'load-balancer-ip': '10.61.1.5',
      'node-port': '10.61.1.5',
    })
    const { reachableEndpoints } = routeTo(web, ['10.61.1.5 here', '10.61.2.7'])
    expect(reachableEndpoints.map(({ ip }) => ip)).toEqual(['10.61.1.5', '10.61.2.7'])
  })

  test('is a wish that means nothing under the usual rules', () => {
    const usual = { ...context, policy: usualPolicy }
    const { entrances } = routeTo(web, ['10.61.1.5 here', '10.61.2.7'], usual)
    expect(entrances.map(({ outside: { policy } }) => policy)).toEqual(['Cluster', 'Cluster', 'Cluster', 'Cluster'])
  })
})

test('hints are honoured, among endpoints that are ready and serve', () => {
  const hinted = ['10.61.1.5 here zone-a', '10.61.2.7 zone-b']
  expect(served(balanced(), hinted)).toEqual(everywhere('10.61.1.5'))
  expect(served(balanced(), ['10.61.1.5 published zone-a', '10.61.2.7 zone-b'])).toEqual(everywhere('10.61.2.7'))
  expect(served(balanced(), ['10.61.1.5 leaving zone-a', '10.61.2.7 leaving zone-b'])).toMatchObject({
    'cluster-ip': '10.61.1.5 10.61.2.7',
  })
  expect(served(balanced(), ['10.61.1.5 published zone-a', '10.61.2.7 published zone-b'])).toMatchObject({
    'cluster-ip': '10.61.1.5 10.61.2.7',
  })
  expect(routeTo(balanced(), hinted).topology).toBe('PreferSameZone')
})

test('under the usual rules all of this is as ever', () => {
  const usual = { ...context, policy: usualPolicy }
  const { entrances, clusterEndpoints } = routeTo(balanced(), ['10.61.2.7 leaving', '10.61.2.8 unready'], usual)
  expect(clusterEndpoints.map(({ ip }) => ip)).toEqual(['10.61.2.7'])
  expect(entrances.map(({ outside: { kind } }) => kind)).toEqual(['forward', 'forward', 'forward', 'forward'])
})
