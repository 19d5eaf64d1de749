import type { LoadBalancerSettings } from '../hcn.ts'

/** A cluster IP with TCP 80 to 8080. */
export function testBalancer(wishes: Partial<LoadBalancerSettings> = {}): LoadBalancerSettings {
  return {
    endpoints: [],
    sourceVip: undefined,
    vip: '10.112.0.20',
    protocol: 6,
    internalPort: 8080,
    externalPort: 80,
    isSticky: false,
    mappingFlags: 0,
    flags: 0,
    ...wishes,
  }
}
