import { expect, test } from 'vitest'
import type { LoadBalancerSettings } from './hcn.ts'
import { contentOf, frontendOf } from './load-balancer-content.ts'

const [a, b] = ['3f2504e0-4f89-11d3-9a0c-0305e82c3301', '6ba7b810-9dad-11d1-80b4-00c04fd430c8']

const settings: LoadBalancerSettings = {
  endpoints: [a, b],
  sourceVip: undefined,
  vip: '10.96.0.10',
  protocol: 17,
  internalPort: 5353,
  externalPort: 53,
  isSticky: false,
  mappingFlags: 0,
  flags: 0,
}

test('a frontend is family, protocol, address and external port', () => {
  expect(frontendOf(settings)).toBe('ipv4 17 10.96.0.10 53')
  expect(frontendOf({ vip: undefined, protocol: 6, externalPort: 31080, flags: 3 })).toBe('ipv6 6 any 31080')
})

test('an address tells its family, whatever the flags say', () => {
  const healthCheck = { vip: '2001:db8:203::40', protocol: 6, externalPort: 10_256, flags: 0 }
  expect(frontendOf(healthCheck)).toBe('ipv6 6 2001:db8:203::40 10256')
  expect(contentOf({ ...settings, ...healthCheck })).not.toBe(contentOf({ ...settings, ...healthCheck, flags: 2 }))
})

test('the order and the case of endpoints do not matter', () => {
  expect(contentOf({ ...settings, endpoints: [b.toUpperCase(), a] })).toBe(contentOf(settings))
})

test('an endpoint that is named twice counts, once', () => {
  const once = contentOf({ ...settings, endpoints: [a] })
  expect(contentOf({ ...settings, endpoints: [a, a.toUpperCase()] })).toBe(once)
  expect(contentOf({ ...settings, endpoints: [] })).not.toBe(once)
})

test.each<Partial<LoadBalancerSettings>>([
  { endpoints: [a] },
  { sourceVip: '10.61.1.2' },
  { vip: undefined },
  { vip: '10.96.0.11' },
  { protocol: 6 },
  { internalPort: 53 },
  { externalPort: 54 },
  { isSticky: true },
  { mappingFlags: 16 },
  { flags: 1 },
  { flags: 2 },
])('everything else does: %j', (change) => {
  expect(contentOf({ ...settings, ...change })).not.toBe(contentOf(settings))
})
