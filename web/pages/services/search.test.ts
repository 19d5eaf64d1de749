import { expect, test } from 'vitest'
import type { ServiceRow } from '../../../src/observe/console/wire.ts'
import { haystackOf, isFound, isKept, isNarrower, wordsIn } from './search.ts'

const web: ServiceRow = {
  key: 'shop/Web',
  type: 'LoadBalancer',
  clusterIPs: ['10.96.0.10', 'fd00:10:96::a'],
  external: ['203.0.113.7'],
  ports: [{ name: 'http', port: 80, nodePort: 30080, protocol: 'TCP' }],
  policies: ['external Local'],
  endpoints: { total: 2, ready: 1, used: 1 },
}

test.each([
  'web',
  'SHOP',
  'shop/web',
  '10.96',
  'fd00:10',
  '203.0.113.7',
  'http',
  '30080',
  ':80/tcp',
  'loadb',
  'local',
  'web shop 80',
  '',
  '10.96.0.10:80',
  '10.96.0.10:30080',
  '[fd00:10:96::a]:80',
])('"%s" finds it', (text) => {
  expect(isFound(haystackOf(web), wordsIn(text))).toBe(true)
})

test.each(['mail', 'web mail', '10.96.0.1:80', '10.96.0.10:8', '10.96.0.10:443', ':8/'])('"%s" does not', (text) => {
  expect(isFound(haystackOf(web), wordsIn(text))).toBe(false)
})

test('who goes on typing asks for less; who deletes or begins anew does not', () => {
  const isLess = (before: string, after: string) => isNarrower(wordsIn(before), wordsIn(after))
  expect(isLess('', 'w')).toBe(true)
  expect(isLess('we', 'web')).toBe(true)
  expect(isLess('web', 'web shop')).toBe(true)
  expect(isLess('web shop', 'web')).toBe(false)
  expect(isLess('web', 'we')).toBe(false)
  // This is no longer a part of a text, but an address and a port.
  expect(isLess('10.96.0.10:8', '10.96.0.10:80')).toBe(false)
})

test('filters keep what they are named for', () => {
  expect(isKept.external(web)).toBe(true)
  expect(isKept.policy(web)).toBe(true)
  expect(isKept.problem(web)).toBe(false)
  expect(isKept['no-endpoints'](web)).toBe(false)
  const bare: ServiceRow = { ...web, external: [], ports: [{ port: 80, protocol: 'TCP' }], policies: [] }
  expect(isKept.external(bare)).toBe(false)
  expect(isKept.policy(bare)).toBe(false)
})
