import { describe, expect, test } from 'vitest'
import type { NftOperation, SetDeclaration } from '../nft.ts'
import { commentedRule } from '../rule.ts'
import { renderScript } from './script.ts'

const services: SetDeclaration = {
  name: 'services',
  key: ['ipv4_addr', 'inet_proto', 'inet_service'],
  value: 'verdict',
  hasCounter: true,
  comment: 'who answers',
}

const line = (...operations: readonly NftOperation[]) => renderScript('ipv4', operations)

describe('an operation is one line', () => {
  for (const [what, operation, expected] of [
    [
      'a table with its comment',
      { do: 'add table', comment: 'rules' },
      'add table ip fairlead { comment "rules" ; }\n',
    ],
    ['a table without one', { do: 'add table', comment: '' }, 'add table ip fairlead\n'],
    ['the end of a table', { do: 'delete table' }, 'delete table ip fairlead\n'],
    [
      'a chain that the kernel calls',
      {
        do: 'add chain',
        chain: {
          name: 'nat-prerouting',
          hook: { type: 'nat', hook: 'prerouting', priority: -100 },
          comment: 'first packets',
        },
      },
      'add chain ip fairlead nat-prerouting { type nat hook prerouting priority -100 ; comment "first packets" ; }\n',
    ],
    ['a plain chain', { do: 'add chain', chain: { name: 'pick-3', comment: '' } }, 'add chain ip fairlead pick-3\n'],
    ['emptying a chain', { do: 'flush chain', name: 'pick-3' }, 'flush chain ip fairlead pick-3\n'],
    ['deleting a chain', { do: 'delete chain', name: 'pick-3' }, 'delete chain ip fairlead pick-3\n'],
    [
      'a rule',
      {
        do: 'add rule',
        chain: 'pick-3',
        rule: commentedRule('the "end"', { kind: 'new connection' }, { kind: 'drop' }),
      },
      'add rule ip fairlead pick-3 ct state new drop comment "the end"\n',
    ],
    [
      'a map of verdicts that counts',
      { do: 'add set', set: services },
      'add map ip fairlead services { type ipv4_addr . inet_proto . inet_service : verdict ; counter ; comment "who answers" ; }\n',
    ],
    [
      'a map with a picked number, which is declared by example',
      {
        do: 'add set',
        set: { name: 'endpoints', key: ['ipv4_addr', 'index'], value: ['ipv4_addr', 'inet_service'], comment: '' },
      },
      'add map ip fairlead endpoints { typeof ip daddr . numgen random mod 2 : ip daddr . th dport ; }\n',
    ],
    [
      'a set of prefixes',
      { do: 'add set', set: { name: 'cidrs', key: ['ipv4_addr'], isInterval: true, comment: '' } },
      'add set ip fairlead cidrs { type ipv4_addr ; flags interval ; }\n',
    ],
    [
      'a set that rules fill',
      { do: 'add set', set: { name: 'affinity', key: ['ipv4_addr'], timeoutSeconds: 10800, comment: '' } },
      'add set ip fairlead affinity { type ipv4_addr ; flags dynamic,timeout ; timeout 10800s ; }\n',
    ],
    ['deleting a map', { do: 'delete set', set: services }, 'delete map ip fairlead services\n'],
    ['deleting a set', { do: 'delete set', set: { name: 'cidrs' } }, 'delete set ip fairlead cidrs\n'],
    [
      'elements of a map, the comment before the value',
      {
        do: 'add elements',
        set: services,
        elements: [
          { key: '10.0.0.1 . tcp . 80', value: 'goto pick-3', comment: 'shop/web:http' },
          { key: '10.0.0.2 . udp . 53', value: 'drop' },
        ],
      },
      'add element ip fairlead services { 10.0.0.1 . tcp . 80 comment "shop/web:http" : goto pick-3, 10.0.0.2 . udp . 53 : drop }\n',
    ],
    [
      'deleting elements, by key alone',
      { do: 'delete elements', set: services, keys: ['10.0.0.1 . tcp . 80', '10.0.0.2 . udp . 53'] },
      'delete element ip fairlead services { 10.0.0.1 . tcp . 80, 10.0.0.2 . udp . 53 }\n',
    ],
  ] satisfies readonly (readonly [string, NftOperation, string])[])
    test(`for ${what}`, () => expect(line(operation)).toBe(expected))
})

test('many elements take several lines, none of which is endless', () => {
  const keys = Array.from({ length: 1201 }, (_, index) => `10.0.${index >> 8}.${index & 255} . tcp . 80`)
  const lines = line({ do: 'delete elements', set: services, keys }).trimEnd().split('\n')
  expect(lines).toHaveLength(3)
  expect(lines.join().match(/ \. tcp \. 80/g)).toHaveLength(1201)
})

test('no elements take no line', () => {
  expect(line({ do: 'add elements', set: services, elements: [] })).toBe('')
})

test('the other family has a table of its own', () => {
  expect(renderScript('ipv6', [{ do: 'delete table' }])).toBe('delete table ip6 fairlead\n')
})

test('where objects cannot have comments, only elements keep theirs', () => {
  const operations: NftOperation[] = [
    { do: 'add table', comment: 'rules' },
    { do: 'add chain', chain: { name: 'pick-3', comment: 'three' } },
    { do: 'add set', set: { name: 'ips', key: ['ipv4_addr'], comment: 'all' } },
    {
      do: 'add elements',
      set: { name: 'ips', key: ['ipv4_addr'], comment: 'all' },
      elements: [{ key: '10.0.0.1', comment: 'one' }],
    },
  ]
  expect(renderScript('ipv4', operations, { hasObjectComments: false })).toBe(
    [
      'add table ip fairlead',
      'add chain ip fairlead pick-3',
      'add set ip fairlead ips { type ipv4_addr ; }',
      'add element ip fairlead ips { 10.0.0.1 comment "one" }',
      '',
    ].join('\n'),
  )
})

describe('a comment', () => {
  const written = (comment: string) =>
    /comment "(.*)" : drop/s.exec(
      line({ do: 'add elements', set: services, elements: [{ key: '10.0.0.1 . tcp . 80', value: 'drop', comment }] }),
    )?.[1]

  test('loses the quotes that would end it, and may not end the line', () => {
    expect(written('a "b" } ; c')).toBe('a b } ; c')
    expect(() => written('a\n} ; c')).toThrow(String.raw`"a\n} ; c" holds a control character`)
  })

  test('is cut where nft would refuse it, between characters', () => {
    expect(written('x'.repeat(129))).toBe('x'.repeat(128))
    expect(written('é'.repeat(70))).toBe('é'.repeat(64))
    expect(written(`xx${'😀'.repeat(40)}`)).toBe(`xx${'😀'.repeat(31)}`)
  })
})
