import fc from 'fast-check'
import { expect, test } from 'vitest'
import { markMatches, matchingLines } from './matches.ts'
import { tokenize } from './tokenize.ts'
import { scrollTo, windowOf } from './window-of.ts'

function kinds(line: string): string {
  return tokenize(line)
    .filter(({ kind }) => kind !== 'plain')
    .map(({ kind, text }) => `${kind}:${text}`)
    .join(' ')
}

test.each([
  [
    'add rule ip fairlead cluster-ips-check ip daddr @cluster-ips reject comment "no Service, drop it"',
    'word:add word:rule word:ip word:ip word:daddr name:@cluster-ips verdict:reject word:comment string:"no Service, drop it"',
  ],
  [
    'add element ip fairlead services { 10.96.0.10 . tcp . 80 : goto pick-2 }',
    'word:add word:element word:ip address:10.96.0.10 word:tcp number:80 verdict:goto',
  ],
  [
    '-A KUBE-SEP-TNEB -m comment --comment default/web:http -s 10.1.0.1/32 -j KUBE-MARK-MASQ',
    'flag:-A name:KUBE-SEP-TNEB flag:-m word:comment flag:--comment flag:-s address:10.1.0.1/32 flag:-j name:KUBE-MARK-MASQ',
  ],
  [
    '-A X -j DNAT --to-destination [fd00:10:244::1]:8080',
    'flag:-A flag:-j verdict:DNAT flag:--to-destination address:[fd00:10:244::1]:8080',
  ],
  [
    '-a -t 10.96.0.10:80 -r 10.1.0.1:8080 -m -w 1',
    'flag:-a flag:-t address:10.96.0.10:80 flag:-r address:10.1.0.1:8080 flag:-m flag:-w number:1',
  ],
  ['add KUBE-CLUSTER-IP 10.96.0.10,tcp:80', 'word:add name:KUBE-CLUSTER-IP address:10.96.0.10 number:80'],
  [
    '# default/web:http/TCP proxy-port 0.0.0.0:40000 -> 10.1.0.1:8080',
    'word:proxy-port address:0.0.0.0:40000 address:10.1.0.1:8080',
  ],
  ['# ipv4, part iptables', 'comment:# ipv4, part iptables'],
  ['ip6 saddr fd00:10:96::/112 accept', 'word:ip6 word:saddr address:fd00:10:96::/112 verdict:accept'],
  ['masquerade fully-random', 'verdict:masquerade'],
])('%s', (line, expected) => {
  expect(kinds(line)).toBe(expected)
})

const lines = fc
  .array(
    fc.constantFrom(
      '10.',
      '1',
      '::',
      ':80',
      '[',
      ']',
      '"',
      '\\\\',
      '-',
      '--a',
      '@',
      'KUBE-',
      ' ',
      '# ',
      ' -> ',
      'drop',
      'é',
      '🙂',
    ),
  )
  .map((pieces) => pieces.join(''))

test('nothing of a line is lost, whatever is in it', () => {
  fc.assert(
    fc.property(lines, (line) => {
      expect(
        tokenize(line)
          .map(({ text }) => text)
          .join(''),
      ).toBe(line)
    }),
  )
})

test('a long line that almost fits does not take long', () => {
  const line = `${'1:'.repeat(20_000)}"${String.raw`\"`.repeat(20_000)}${'10.1.'.repeat(20_000)}`
  expect(
    tokenize(line)
      .map(({ text }) => text)
      .join(''),
  ).toBe(line)
})

test('matches are found in either case and marked across pieces', () => {
  const lines = ['add rule ip x', 'ADD', 'nothing']
  expect(matchingLines(lines, 'add')).toEqual([0, 1])
  expect(matchingLines(lines, '')).toEqual([])
  const marked = markMatches(tokenize('add rule ip x'), 'D RULE')
  expect(marked.filter(({ isMatch }) => isMatch).map(({ text }) => text)).toEqual(['d', ' ', 'rule'])
  expect(marked.map(({ text }) => text).join('')).toBe('add rule ip x')
})

test('only lines near what is seen are drawn', () => {
  expect(windowOf(100_000, 20, { scrollTop: 40_000, height: 600 })).toEqual({ first: 1980, last: 2050 })
  expect(windowOf(5, 20, { scrollTop: 0, height: 600 })).toEqual({ first: 0, last: 5 })
  expect(windowOf(5, 20, { scrollTop: 9_000, height: 600 })).toEqual({ first: 5, last: 5 })
  expect(windowOf(0, 20, { scrollTop: 0, height: 0 })).toEqual({ first: 0, last: 0 })
})

test('a line that is seen already needs no scrolling', () => {
  expect(scrollTo(3, 20, { scrollTop: 0, height: 600 })).toBeUndefined()
  expect(scrollTo(1000, 20, { scrollTop: 0, height: 600 })).toBe(19_800)
})
