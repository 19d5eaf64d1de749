import { describe, expect, test } from 'vitest'
import type { ChainHook } from '../../../dataplane/nft/nft.ts'
import { endingsOf } from './evaluate-packet.ts'
import { fateOf } from './fate.ts'
import { parseRule } from './kernel-rule.ts'
import type { Packet } from './packet.ts'
import { exactSet, intervalSet, ruleset } from './ruleset.ts'
import type { KernelSet } from './ruleset.ts'

const node = { family: 'ipv4', localIps: ['198.51.100.10'] } as const
const fromPod: Packet = {
  enters: 'prerouting',
  inInterface: 'cali1',
  source: '10.77.1.5',
  destination: '10.112.0.21',
  protocol: 'tcp',
  port: 80,
}

/** Chains by name; a name such as `nat prerouting -100` is that of a base chain. */
function fate(
  chains: Readonly<Record<string, readonly string[]>>,
  packet: Partial<Packet> = {},
  sets: Readonly<Record<string, KernelSet>> = {},
) {
  const parsed = Object.entries(chains).map(([name, rules]) => {
    const [type, hook, priority] = name.split(' ')
    const base = hook === undefined ? undefined : ({ type, hook, priority: Number(priority) } as ChainHook)
    return [name, { hook: base, rules: rules.map(parseRule) }] as const
  })
  const table = ruleset(new Map(parsed), new Map(Object.entries(sets)))
  return fateOf(endingsOf(table, node, { ...fromPod, ...packet }))
}

const dnat = (host: number) => `dnat to 10.77.2.${host}:8080`

describe('a packet', () => {
  test('comes back from a jump, and goes on with the next rule', () => {
    expect(fate({ 'nat prerouting -100': ['jump empty', dnat(6)], empty: [] })).toEqual({ 'to 10.77.2.6:8080': '1/1' })
  })

  test('does not come back from a goto, but to where its chain was jumped to from', () => {
    const chains = { 'nat prerouting -100': ['jump middle', dnat(6)], middle: ['goto empty', dnat(7)], empty: [] }
    expect(fate(chains)).toEqual({ 'to 10.77.2.6:8080': '1/1' })
    expect(fate({ 'nat prerouting -100': ['goto empty', dnat(6)], empty: [] })).toEqual({ untouched: '1/1' })
  })

  test('meets chains by hook and priority, whatever their order in the table', () => {
    const chains = {
      'filter forward 0': ['ip daddr 10.77.2.6 drop'],
      'nat prerouting -100': [dnat(6)],
      'filter prerouting -110': ['ip daddr 10.77.2.6 reject'],
    }
    expect(fate(chains)).toEqual({ dropped: '1/1' })
  })

  test('is masqueraded only where it leaves', () => {
    const chains = { 'nat postrouting 100': ['masquerade fully-random'] }
    expect(fate(chains)).toEqual({ 'untouched, hidden': '1/1' })
    expect(fate(chains, { destination: '198.51.100.10' })).toEqual({ untouched: '1/1' })
  })

  test('is still marked when nobody clears the mark', () => {
    expect(fate({ 'nat prerouting -100': ['meta mark set meta mark | 0x4000'] })).toEqual({
      'untouched, marked': '1/1',
    })
  })

  test('of the node to itself passes the input hook, and is not translated a second time', () => {
    const own = { enters: 'output', inInterface: '', source: '198.51.100.10', destination: '198.51.100.10' } as const
    expect(fate({ 'nat prerouting -100': [dnat(6)], 'nat output -100': ['jump x'], x: [] }, own)).toEqual({
      untouched: '1/1',
    })
    expect(fate({ 'filter input 0': ['ct state new reject'] }, own)).toEqual({ rejected: '1/1' })
  })

  test('splits by chance, and what finds no endpoint goes on', () => {
    const sets = { endpoints: exactSet([['tcp . 80 . 0', '10.77.2.6 . 8080']]) }
    const pick = 'dnat ip to meta l4proto . th dport . numgen random mod 4 map @endpoints'
    expect(fate({ 'nat prerouting -100': [pick, 'numgen random mod 3 0 drop'] }, {}, sets)).toEqual({
      'to 10.77.2.6:8080': '1/4',
      dropped: '1/4',
      untouched: '1/2',
    })
  })

  test('is found in a set of prefixes by its last field', () => {
    const sets = { ranges: intervalSet([['10.112.0.21 . tcp . 80 . 10.77.0.0/16', '']]) }
    const chains = {
      'filter prerouting -110': ['ip daddr . meta l4proto . th dport . ip saddr != @ranges drop'],
    }
    expect(fate(chains, {}, sets)).toEqual({ untouched: '1/1' })
    expect(fate(chains, { source: '10.78.0.1' }, sets)).toEqual({ dropped: '1/1' })
    expect(fate(chains, { port: 81 }, sets)).toEqual({ dropped: '1/1' })
  })
})

test('a rule that the tests do not know is an error, not a rule that matches nothing', () => {
  expect(() => parseRule('ip ttl 1 drop')).toThrow('nobody taught the tests')
})
