import { expect, test } from 'vitest'
import { featuresOf } from './features.ts'
import type { HnsFeatures } from './features.ts'

const names: readonly (keyof HnsFeatures)[] = [
  'apiV2',
  'remoteSubnet',
  'dsr',
  'ipv6DualStack',
  'sessionAffinity',
  'modifyLoadBalancer',
]
const upTo = (last: keyof HnsFeatures) => names.slice(0, names.indexOf(last) + 1)

test.each([
  [8, 99, []],
  [9, 1, []],
  [9, 2, ['apiV2', 'remoteSubnet']],
  [9, 3, ['apiV2', 'remoteSubnet', 'dsr']],
  [9, 99, ['apiV2', 'remoteSubnet', 'dsr']],
  [10, 0, ['apiV2', 'remoteSubnet']],
  [10, 1, ['apiV2', 'remoteSubnet']],
  [10, 2, upTo('dsr')],
  [11, 9, upTo('dsr')],
  [11, 10, upTo('ipv6DualStack')],
  [12, 0, upTo('sessionAffinity')],
  [15, 4, upTo('sessionAffinity')],
  [15, 5, upTo('modifyLoadBalancer')],
  [16, 0, upTo('modifyLoadBalancer')],
])('HNS %i.%i has %j', (major, minor, expected) => {
  const features = featuresOf({ major, minor })
  expect(names.filter((name) => features[name])).toEqual(expected)
})
