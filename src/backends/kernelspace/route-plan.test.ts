import { expect, test } from 'vitest'
import { testEndpoint, testRoute } from '../../core/testing/routes.ts'
import { planRoute } from './route-plan.ts'
import { testSettings } from './testing/settings.ts'

const endpoints = [testEndpoint('10.61.2.7', 8080)]

function frontends(wishes: Parameters<typeof testRoute>[1], settings = testSettings): readonly string[] {
  return planRoute(testRoute('demo/web', { endpoints, ...wishes }), settings).balancers.map(({ frontend }) => frontend)
}

test('an address that nobody may use has no load balancer', () => {
  const loadBalancerIPs = ['203.0.113.40']
  expect(frontends({ loadBalancerIPs, sourceRanges: [] })).toEqual(['ipv4 6 10.96.0.10 80'])
  expect(frontends({ loadBalancerIPs, sourceRanges: ['192.0.2.0/24'] })).toEqual([
    'ipv4 6 10.96.0.10 80',
    'ipv4 6 203.0.113.40 80',
  ])
})

test('an address that is named twice counts as what it was first', () => {
  const { balancers } = planRoute(
    testRoute('demo/web', {
      endpoints,
      externalIPs: ['203.0.113.40'],
      loadBalancerIPs: ['203.0.113.40', '10.96.0.10'],
    }),
    testSettings,
  )
  expect(balancers.map(({ kind, vip }) => [kind, vip])).toEqual([
    ['cluster-ip', '10.96.0.10'],
    ['external-ip', '203.0.113.40'],
  ])
})

test('entrances with the same outcome share their endpoints', () => {
  const { balancers } = planRoute(
    testRoute('demo/web', { endpoints, nodePort: 31_080, externalIPs: ['198.51.100.9'] }),
    testSettings,
  )
  expect(balancers[1]?.pool).toBe(balancers[2]?.pool)
})

test('a health check that has no port is not forwarded', () => {
  const forwarding = { ...testSettings, forwardHealthCheckVip: true, healthzPort: undefined }
  const loadBalancerIPs = ['203.0.113.40']
  expect(frontends({ loadBalancerIPs }, forwarding)).toHaveLength(2)
  expect(frontends({ loadBalancerIPs, healthCheckNodePort: 32_100 }, forwarding)).toContain('ipv4 6 203.0.113.40 32100')
})
