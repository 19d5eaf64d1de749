import { expect, test } from 'vitest'
import { parseIp } from './ip.ts'
import { specialAddress, withArticle } from './special-addresses.ts'

// What Go's net.IP says about each: IsUnspecified, IsLoopback, IsLinkLocalUnicast, IsLinkLocalMulticast, IsMulticast.
test.each([
  ['0.0.0.0', 'unspecified'],
  ['0.0.0.1', undefined],
  ['127.0.0.1', 'loopback'],
  ['127.255.255.255', 'loopback'],
  ['12.7.0.1', undefined],
  ['169.254.169.254', 'link-local'],
  ['169.253.1.1', undefined],
  ['224.0.0.1', 'link-local multicast'],
  ['224.0.1.1', 'multicast'],
  ['239.255.255.255', 'multicast'],
  ['223.255.255.255', undefined],
  ['240.0.0.1', undefined],
  ['255.255.255.255', 'broadcast'],
  ['255.255.255.254', undefined],
  ['::', 'unspecified'],
  ['::1', 'loopback'],
  ['::2', undefined],
  ['::ffff:127.0.0.1', 'loopback'],
  ['fe80::1', 'link-local'],
  ['febf::1', 'link-local'],
  ['fec0::1', undefined],
  ['fe8::1', undefined],
  ['ff02::1', 'link-local multicast'],
  ['ff32::1', 'link-local multicast'],
  ['ff05::2', 'multicast'],
  ['ff2::1', undefined],
  ['fd00::1', undefined],
  ['fd00:fe80::1', undefined],
  ['fd00:ff02::1', undefined],
  ['fd00:ff05::1', undefined],
])('%s is %s', (text, kind) => {
  expect(specialAddress(parseIp(text) ?? '')).toBe(kind)
})

test('each has its article in a sentence', () => {
  expect(withArticle('unspecified')).toBe('an unspecified')
  expect(withArticle('loopback')).toBe('a loopback')
})
