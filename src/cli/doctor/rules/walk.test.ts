import { describe, expect, test } from 'vitest'
import { parseIptablesRule } from './parse-iptables.ts'
import { parseNftTable } from './parse-nft.ts'
import type { HookedChain, Rule } from './rule.ts'
import { walk } from './walk.ts'
import type { Packet } from './walk.ts'

const packet: Packet = { ip: '10.96.0.10', protocol: 'tcp', port: 80, isLocal: false, isTranslated: false }

function hooked(rulesByChain: ReadonlyMap<string, readonly Rule[]>, chain: string, policy = 'accept'): HookedChain {
  const place = { place: 'a table', hook: 'prerouting', type: 'filter', priority: -300, families: ['ipv4'] } as const
  return { ...place, chain, policy, rulesByChain }
}

function iptables(rules: Readonly<Record<string, readonly string[]>>, policy?: string): HookedChain {
  const isOurs = (chain: string) => chain === 'KUBE-SERVICES'
  const parsed = Object.entries(rules).map(
    ([chain, lines]) => [chain, lines.map((line) => parseIptablesRule(chain, line, isOurs))] as const,
  )
  return hooked(new Map(parsed), 'PREROUTING', policy)
}

const short = (chain: HookedChain, sent: Partial<Packet> = {}) =>
  walk(chain, { ...packet, ...sent }).map(
    ({ kind, isCertain, isAboutDestination }) =>
      `${kind}${isCertain ? ' certainly' : ''}${isAboutDestination ? ' by destination' : ''}`,
  )

describe('rules of iptables', () => {
  test.each<[rule: string, expected: readonly string[]]>([
    ['-d 10.96.0.10/32 -j DROP', ['drop certainly by destination']],
    [
      '-d 10.96.0.0/16 -p tcp -m tcp --dport 80 -j REJECT --reject-with icmp-port-unreachable',
      ['reject certainly by destination'],
    ],
    ['-d 10.97.0.0/16 -j DROP', []],
    ['! -d 10.97.0.0/16 -j DROP', ['drop certainly']],
    ['! -d 10.96.0.0/16 -j DROP', []],
    ['-p udp -j DROP', []],
    ['-p tcp -m multiport --dports 22,70:90 -j DROP', ['drop certainly by destination']],
    ['-p tcp -m multiport ! --dports 22,70:90 -j DROP', []],
    ['-s 203.0.113.0/24 -j DROP', ['drop']],
    ['-s 203.0.113.0/24 -d 10.96.0.10/32 -j DROP', ['drop by destination']],
    ['-m conntrack --ctstate INVALID -j DROP', []],
    ['-m conntrack ! --ctstate RELATED,ESTABLISHED -j DROP', ['drop certainly']],
    ['-m conntrack --ctstate INVALID,NEW -j DROP', ['drop certainly']],
    ['-m state --state ESTABLISHED -j DROP', []],
    ['-i lo -j DROP', []],
    ['! -i lo -j DROP', ['drop']],
    ['-i eth0 -j DROP', ['drop']],
    ['-m addrtype --dst-type LOCAL -j DROP', []],
    ['-m addrtype ! --dst-type LOCAL -j DROP', ['drop certainly']],
    ['-m set --match-set block src -j DROP', ['drop']],
    ['-m limit --limit 5/min -j DROP', ['drop']],
    [
      '-d 10.96.0.10/32 -p tcp -m tcp --dport 80 -m comment --comment "to -j DROP it" -j DNAT --to-destination 1.2.3.4:81',
      ['translate certainly by destination'],
    ],
    ['-d 10.96.0.10/32 -j NOTRACK', ['untrack certainly by destination']],
    ['-m iprange --dst-range 10.96.0.5-10.96.0.15 -j DROP', ['drop certainly by destination']],
    ['-d 10.96.0.10/32 -j LOG --log-prefix "x"', []],
    ['-d 10.96.0.10/32 -j ACCEPT', []],
  ])('%s', (rule, expected) => {
    expect(short(iptables({ PREROUTING: [rule] }))).toEqual(expected)
  })

  test('what was accepted before cannot be dropped after', () => {
    expect(short(iptables({ PREROUTING: ['-d 10.96.0.0/16 -j ACCEPT', '-j DROP'] }))).toEqual([])
  })

  test('after a rule that may accept, nothing is certain', () => {
    expect(short(iptables({ PREROUTING: ['-s 10.0.0.0/8 -j ACCEPT', '-j DROP'] }))).toEqual(['drop'])
  })

  test('the proxy takes over before later rules', () => {
    const rules = ['-j KUBE-SERVICES', '-d 10.96.0.10/32 -j DNAT --to-destination 1.2.3.4']
    expect(short(iptables({ PREROUTING: rules }))).toEqual([])
  })

  test('chains are followed, and returned from', () => {
    const chain = (first: string) =>
      iptables({ PREROUTING: ['-p tcp -j ONE', '-d 10.96.0.10/32 -j REJECT'], ONE: [first, '-j DROP'] })
    expect(short(chain('-d 10.96.0.10/32 -j RETURN'))).toEqual(['reject certainly by destination'])
    expect(short(chain('-d 10.99.0.10/32 -j RETURN'))).toEqual(['drop certainly'])
    expect(short(chain('-s 10.99.0.10/32 -j RETURN'))).toEqual(['drop', 'reject certainly by destination'])
  })

  test('a chain that was gone to does not come back', () => {
    const rules = { PREROUTING: ['-g ONE', '-j DROP'], ONE: ['-d 10.99.0.0/16 -j DROP'] }
    expect(short(iptables(rules))).toEqual([])
  })

  test('chains in a circle end', () => {
    expect(short(iptables({ PREROUTING: ['-j ONE'], ONE: ['-j PREROUTING'] }))).toEqual([])
  })

  test('the policy is what is left', () => {
    expect(walk(iptables({ PREROUTING: [] }, 'drop'), packet)).toMatchObject([{ isPolicy: true, isCertain: true }])
    expect(short(iptables({ PREROUTING: ['-d 10.96.0.10/32 -j ACCEPT'] }, 'drop'))).toEqual([])
    expect(short(iptables({ PREROUTING: ['-i eth9 -j ACCEPT'] }, 'drop'))).toEqual(['drop'])
  })

  test('a port that is not known may be any', () => {
    const chain = iptables({ PREROUTING: ['-p tcp -m tcp --dport 22 -j ACCEPT'] }, 'drop')
    expect(short(chain, { port: undefined })).toEqual(['drop'])
    expect(short(chain)).toEqual(['drop certainly'])
  })

  test('packets that were translated are told apart', () => {
    const chain = iptables({ PREROUTING: ['-m conntrack --ctstatus DNAT -j ACCEPT', '-j DROP'] })
    expect(short(chain, { isTranslated: true })).toEqual([])
    expect(short(chain)).toEqual(['drop certainly'])
  })
})

describe('rules of nft', () => {
  const match = (left: unknown, right: unknown, op = '==') => ({ match: { op, left, right } })
  const daddr = { payload: { protocol: 'ip', field: 'daddr' } }
  const dport = { payload: { protocol: 'tcp', field: 'dport' } }
  const state = { ct: { key: 'state' } }
  const drop = { drop: null }
  const chainOf = (...expr: readonly unknown[]) => {
    const sets = [
      {
        set: {
          name: 'block',
          elem: [{ prefix: { addr: '10.96.0.0', len: 24 } }, { elem: { val: '10.1.1.1', timeout: 5 } }],
        },
      },
      {
        map: {
          name: 'services',
          elem: [
            [{ concat: ['10.96.0.10', 'udp', 80] }, { accept: null }],
            [{ concat: ['10.96.0.10', 'tcp', 80] }, drop],
          ],
        },
      },
      {
        map: {
          name: 'endpoints',
          elem: [
            [{ concat: ['10.96.0.11', 80] }, { concat: ['1.2.3.3', 8080] }],
            [{ concat: ['10.96.0.10', 80] }, { concat: ['1.2.3.4', 8080] }],
          ],
        },
      },
      {
        map: {
          name: 'ports',
          elem: [
            [80, drop],
            [81, { accept: null }],
          ],
        },
      },
    ]
    return hooked(parseNftTable([...sets, { rule: { chain: 'c', expr } }]), 'c')
  }
  test.each<[name: string, expr: readonly unknown[], expected: readonly string[]]>([
    ['an address', [match(daddr, '10.96.0.10'), drop], ['drop certainly by destination']],
    ['another address', [match(daddr, '10.96.0.11'), drop], []],
    ['not that address', [match(daddr, '10.96.0.10', '!='), drop], []],
    [
      'an address of the other family',
      [match({ payload: { protocol: 'ip6', field: 'daddr' } }, '2001:db8::1'), drop],
      [],
    ],
    ['a prefix', [match(daddr, { prefix: { addr: '10.96.0.0', len: 16 } }), drop], ['drop certainly by destination']],
    ['a range', [match(daddr, { range: ['10.96.0.1', '10.96.0.20'] }), drop], ['drop certainly by destination']],
    ['a named set', [match(daddr, '@block'), drop], ['drop certainly by destination']],
    ['a set of ports', [match(dport, { set: [22, { range: [79, 81] }] }), drop], ['drop certainly by destination']],
    ['a port of another protocol', [match({ payload: { protocol: 'udp', field: 'dport' } }, 80), drop], []],
    ['a source', [match({ payload: { protocol: 'ip', field: 'saddr' } }, '1.2.3.4'), drop], ['drop']],
    ['states', [match(state, ['established', 'related'], 'in'), drop], []],
    ['new connections', [match(state, 'new', 'in'), drop], ['drop certainly']],
    [
      'a verdict map of states',
      [
        {
          vmap: {
            key: state,
            data: {
              set: [
                ['invalid', drop],
                ['new', drop],
              ],
            },
          },
        },
      ],
      ['drop certainly'],
    ],
    ['a verdict map of ports', [{ vmap: { key: dport, data: '@ports' } }], ['drop certainly by destination']],
    [
      'a verdict map of address, protocol and port',
      [{ vmap: { key: { concat: [daddr, { meta: { key: 'l4proto' } }, dport] }, data: '@services' } }],
      ['drop certainly by destination'],
    ],
    [
      'a map of new destinations',
      [{ dnat: { addr: { map: { key: { concat: [daddr, dport] }, data: '@endpoints' } } } }],
      ['translate certainly by destination'],
    ],
    [
      'a map of new destinations that does not have this one',
      [{ dnat: { addr: { map: { key: daddr, data: { set: [['10.96.0.99', '1.2.3.4']] } } } } }],
      [],
    ],
    ['a family', [match({ meta: { key: 'nfproto' } }, 'ipv6'), drop], []],
    ['a limit', [match(daddr, '10.96.0.10'), { limit: { rate: 1 } }, drop], ['drop by destination']],
    ['local addresses', [match({ fib: { result: 'type', flags: ['daddr'] } }, 'local'), drop], []],
    ['loopback', [match({ meta: { key: 'iifname' } }, 'lo'), drop], []],
    [
      'a translation',
      [match(daddr, '10.96.0.10'), { dnat: { addr: '1.2.3.4', port: 81 } }],
      ['translate certainly by destination'],
    ],
    ['no tracking', [match(daddr, '10.96.0.10'), { notrack: null }], ['untrack certainly by destination']],
    ['a mark', [match({ meta: { key: 'mark' } }, 1), drop], ['drop']],
    ['a comparison', [match(dport, 1000, '<'), drop], ['drop']],
  ])('%s', (_, expr, expected) => {
    expect(short(chainOf(...expr))).toEqual(expected)
  })

  test('are told as nft writes them', () => {
    const rule = [
      match(daddr, '10.96.0.10'),
      match(dport, { set: [80, 81] }),
      { counter: {} },
      { dnat: { addr: '1.2.3.4', port: 81 } },
    ]
    expect(walk(chainOf(...rule), packet)[0]?.rule).toBe(
      'c: ip daddr 10.96.0.10 tcp dport { 80, 81 } dnat to 1.2.3.4:81',
    )
  })
})
