import { readFileSync, readdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parseSave } from '../save-text.ts'
import type { Family } from '../../../net/ip.ts'
import * as iptables from '../../../backends/iptables/leftovers.ts'
import * as ipvs from '../../../backends/ipvs/leftovers.ts'
import * as userspace from '../../../backends/userspace/leftovers.ts'
import { cleanupInput } from './cleanup-input.ts'
import { planCleanup } from './cleanup-plan.ts'
import type { IptablesCleanup } from './cleanup-plan.ts'
import { ownChainFinder } from './own-chain.ts'

const findOwn = ownChainFinder([iptables, ipvs, userspace].flatMap(({ ownChains }) => ownChains))

const goldens = new URL('../../../../tests/goldens/', import.meta.url)

describe('of what kube-proxy programmed, nothing stays', () => {
  for (const path of readdirSync(goldens, { recursive: true, encoding: 'utf8' }).filter((path) =>
    /ip6?tables-save\.txt$/.test(path),
  ))
    test(`in ${path}`, () => {
      const saved = readFileSync(new URL(path, goldens), 'utf8')
      const { jumps, chains, staying } = planCleanup(
        { rules: parseSave(saved) },
        path.includes('ip6') ? 'ipv6' : 'ipv4',
        findOwn,
      )
      expect(staying).toEqual([])
      expect(jumps).toHaveLength(saved.match(/^-A [A-Z]+ /gm)?.length ?? 0)
      expect(chains).toHaveLength(saved.match(/^:KUBE-/gm)?.length ?? 0)
      expect(chains.filter(({ heldBy }) => heldBy.length > 0)).toEqual([])
    })
})

describe('a rule in a chain of the kernel is a jump of a proxy', () => {
  test.each([
    ['filter', 'OUTPUT', '-m comment --comment "kubernetes service portals" -j KUBE-SERVICES', 'as until 1.8'],
    [
      'filter',
      'INPUT',
      '-m conntrack --ctstate NEW -m comment --comment "kubernetes service portals" -j KUBE-SERVICES',
      'as until 1.13',
    ],
    ['filter', 'FORWARD', '-m comment --comment "kubernetes forward rules" -j KUBE-FORWARD', 'as until 1.9'],
    ['filter', 'INPUT', '-j KUBE-FIREWALL', 'as today'],
  ])('%s %s %s (%s)', (table, chain, rule) => {
    const target = rule.split(' ').at(-1)
    const { jumps, staying } = plan(table, [target, []], [chain, [rule]])
    expect(jumps).toMatchObject([{ table, chain, rule }])
    expect(staying).toEqual([])
  })
})

describe("a rule is somebody else's, and holds the chain that it jumps to", () => {
  test.each([
    ['without a comment', 'INPUT', '-j KUBE-SERVICES'],
    ['with a comment of its own', 'INPUT', '-m comment --comment mine -j KUBE-SERVICES'],
    [
      'with a condition of its own',
      'INPUT',
      '-s 192.0.2.0/24 -m comment --comment "kubernetes service portals" -j KUBE-SERVICES',
    ],
    [
      'with the comment of another jump',
      'INPUT',
      '-m comment --comment "kubernetes forwarding rules" -j KUBE-SERVICES',
    ],
    ['in a chain of its own', 'MINE', '-m comment --comment "kubernetes service portals" -j KUBE-SERVICES'],
    ['that goes instead of jumping', 'INPUT', '-m comment --comment "kubernetes service portals" -g KUBE-SERVICES'],
    ['with more than a jump to KUBE-FIREWALL', 'INPUT', '-i eth0 -j KUBE-FIREWALL'],
  ])('%s', (_, chain, rule) => {
    const target = rule.split(' ').at(-1) ?? ''
    const { jumps, chains, staying } = plan('filter', [target, ['-j RETURN']], [chain, [rule]])
    expect(jumps).toEqual([])
    expect(staying).toEqual([{ table: 'filter', chain, rule }])
    expect(chains).toMatchObject([{ chain: target, ruleCount: 1, heldBy: staying }])
  })

  test('but a comment that looks like a jump is only a comment', () => {
    const { chains } = plan(
      'filter',
      ['KUBE-SERVICES', []],
      ['INPUT', ['-m comment --comment "-j KUBE-SERVICES" -j DROP', '-m comment --comment -j -j ACCEPT']],
    )
    expect(chains).toMatchObject([{ chain: 'KUBE-SERVICES', heldBy: [] }])
  })
})

test('chains of others are not ours for their name', () => {
  const names = [
    'KUBE-ROUTER-INPUT',
    'KUBE-POD-FW-ABCDEFGHIJKLMNOP',
    'KUBE-HOSTPORTS',
    'KUBE-SVC-notes',
    'KUBE-SVC-',
    'KUBE-SERVICES-2',
  ]
  for (const table of ['mangle', 'filter', 'nat'])
    expect(plan(table, ...names.map((name): SavedChain => [name, ['-j RETURN']])).chains).toEqual([])
  expect(plan('mangle', ['KUBE-SERVICES', []], ['KUBE-SVC-NPX46M4PTMTKRN6Y', []]).chains).toEqual([])
})

test('chains that no list names are not looked for', () => {
  const saved = { rules: new Map([['nat', new Map([['KUBE-SERVICES', []]])]]) }
  expect(planCleanup(saved, 'ipv4', findOwn).chains).toHaveLength(1)
  expect(planCleanup(saved, 'ipv4', ownChainFinder(userspace.ownChains)).chains).toEqual([])
})

describe('KUBE-FIREWALL, which the kubelet makes too,', () => {
  const dropped = '! -s 127.0.0.0/8 -d 127.0.0.0/8 -j DROP'
  const firewall = (...rules: string[]): SavedChain[] => [
    ['KUBE-FIREWALL', rules],
    ['INPUT', ['-j KUBE-FIREWALL']],
  ]

  test('goes with its jumps where no kubelet is', () => {
    expect(plan('filter', ...firewall(dropped))).toMatchObject({ jumps: [{}], chains: [{}], staying: [] })
  })

  test.each(['KUBE-KUBELET-CANARY', 'KUBE-IPTABLES-HINT'])('stays where %s tells of one', (chain) => {
    const cleanup = plan('filter', ...firewall(dropped), [chain, []])
    expect(cleanup).toMatchObject({ jumps: [], chains: [], staying: [{ rule: dropped }, { rule: '-j KUBE-FIREWALL' }] })
  })

  test('goes in IPv6 when it is empty: no kubelet leaves it so there', () => {
    const saved: SavedChain[] = [...firewall(), ['KUBE-KUBELET-CANARY', []]]
    expect(planOf('ipv6', 'filter', saved)).toMatchObject({ jumps: [{}], chains: [{}] })
    expect(planOf('ipv4', 'filter', saved)).toMatchObject({ jumps: [], chains: [] })
  })
})

test('KUBE-MARK-DROP goes only as old releases wrote it, and where no kubelet needs it', () => {
  const written = '-j MARK --set-xmark 0x8000/0x8000'
  expect(plan('nat', ['KUBE-MARK-DROP', [written]]).chains).toHaveLength(1)
  expect(plan('nat', ['KUBE-MARK-DROP', [written, '-j ACCEPT']]).chains).toEqual([])
  expect(plan('nat', ['KUBE-MARK-DROP', ['-j MARK --set-xmark 0x8000/0x4000']]).chains).toEqual([])
  expect(plan('nat', ['KUBE-MARK-DROP', [written]], ['KUBE-KUBELET-CANARY', []]).chains).toEqual([])
})

test('chains are emptied before jumps and chains are deleted; one that is held is only emptied', () => {
  const jumps = [{ chain: 'OUTPUT', rule: '-m comment --comment "kubernetes service portals" -j KUBE-SERVICES' }]
  const chains = [
    { chain: 'KUBE-SERVICES', isEmptiedOnly: false },
    { chain: 'KUBE-MARK-MASQ', isEmptiedOnly: true },
  ]
  expect(cleanupInput({ table: 'nat', jumps, chains })).toBe(`*nat
:KUBE-SERVICES - [0:0]
:KUBE-MARK-MASQ - [0:0]
-D OUTPUT -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-X KUBE-SERVICES
COMMIT
`)
})

type SavedChain = readonly [chain: string | undefined, rules: readonly string[]]

function plan(table: string, ...chains: readonly SavedChain[]): IptablesCleanup {
  return planOf('ipv4', table, chains)
}

function planOf(family: Family, table: string, chains: readonly SavedChain[]): IptablesCleanup {
  return planCleanup(
    { rules: new Map([[table, new Map(chains.map(([chain = '', rules]) => [chain, rules]))]]) },
    family,
    findOwn,
  )
}
