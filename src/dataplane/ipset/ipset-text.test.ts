import { expect, test } from 'vitest'
import { canonicalEntry, entryForTool, parseEntry } from './entry-text.ts'

test('an entry has one canonical text, however it was written', () => {
  for (const [written, canonical] of [
    ['10.96.0.10', '10.96.0.10'],
    ['30080', '30080'],
    ['10.96.0.10,tcp:80', '10.96.0.10,tcp:80'],
    ['10.96.0.10,TCP:080', '10.96.0.10,tcp:80'],
    // Without /etc/protocols the tool prints numbers.
    ['10.96.0.10,6:80', '10.96.0.10,tcp:80'],
    ['10.96.0.10,17:53', '10.96.0.10,udp:53'],
    ['10.96.0.10,132:9', '10.96.0.10,sctp:9'],
    ['FD00:0:0::10,tcp:80', 'fd00::10,tcp:80'],
    ['10.64.0.1,tcp:80,10.64.0.1', '10.64.0.1,tcp:80,10.64.0.1'],
    ['10.96.0.10,tcp:80,192.0.2.7/24', '10.96.0.10,tcp:80,192.0.2.0/24'],
    // A network of one address is printed without its length.
    ['10.96.0.10,tcp:80,192.0.2.7/32', '10.96.0.10,tcp:80,192.0.2.7'],
    ['fd00::10,tcp:80,2001:db8::1/128', 'fd00::10,tcp:80,2001:db8::1'],
  ] as const)
    expect(canonicalEntry(written)).toBe(canonical)
})

test('what is no entry is told apart', () => {
  for (const text of [
    '',
    'web',
    '70000',
    '10.96.0.300',
    '10.96.0.10,80',
    '10.96.0.10,icmp:8',
    '10.96.0.10,tcp:70000',
    '10.96.0.10,tcp:80,nowhere',
    '10.96.0.10,tcp:80,10.0.0.0/33',
    '10.96.0.10,tcp:80,10.0.0.1,more',
  ])
    expect(canonicalEntry(text)).toBeUndefined()
})

test('the tool is given protocols by number, which it understands everywhere', () => {
  const forTool = (text: string) => entryForTool(parseEntry(text) ?? {})
  expect(forTool('10.96.0.10,sctp:9')).toBe('10.96.0.10,132:9')
  expect(forTool('10.96.0.10,tcp:80,192.0.2.0/24')).toBe('10.96.0.10,6:80,192.0.2.0/24')
  expect(forTool('30080')).toBe('30080')
  expect(forTool('10.96.0.10')).toBe('10.96.0.10')
})
