import { describe, expect, test } from 'vitest'
import { rulesetDifferences } from './compare-rulesets.ts'

const save = (...rules: string[]) =>
  ['*nat', ':PREROUTING ACCEPT [0:0]', ':KUBE-SERVICES - [0:0]', ':KUBE-SVC-A - [0:0]', ...rules, 'COMMIT', ''].join(
    '\n',
  )
const tail = '-A KUBE-SERVICES -m comment --comment "NOTE: this must be the last rule in this chain" -j KUBE-NODEPORTS'

describe('two rulesets are equal', () => {
  test.each([
    [
      'when only counters, comments and spaces differ',
      ['-A KUBE-SVC-A -m nfacct --nfacct-name  x -j DROP'],
      ['# noise', '[3:9] -A KUBE-SVC-A -m nfacct --nfacct-name x -j DROP'],
    ],
    [
      'when Services stand in another order in a shared chain',
      ['-A KUBE-SERVICES -j A', '-A KUBE-SERVICES -j B', tail],
      ['-A KUBE-SERVICES -j B', '-A KUBE-SERVICES -j A', tail],
    ],
  ])('%s', (_, left, right) => {
    expect(rulesetDifferences(save(...left), save(...right))).toEqual([])
  })
})

describe('two rulesets differ', () => {
  test.each([
    [
      'when rules of one Service are in another order',
      ['-A KUBE-SVC-A -j A', '-A KUBE-SVC-A -j B'],
      ['-A KUBE-SVC-A -j B', '-A KUBE-SVC-A -j A'],
    ],
    ['when a rule is missing', ['-A KUBE-SERVICES -j A'], []],
    ['when a rule is there twice', ['-A KUBE-SERVICES -j A', '-A KUBE-SERVICES -j A'], ['-A KUBE-SERVICES -j A']],
    ['when the last rule is not last', [tail, '-A KUBE-SERVICES -j A'], ['-A KUBE-SERVICES -j A', tail]],
    ['when a chain is missing', [], [':KUBE-SVC-B - [0:0]']],
    ['when a table is missing', [], ['COMMIT', '*filter', ':INPUT ACCEPT [0:0]']],
  ])('%s', (_, left, right) => {
    expect(rulesetDifferences(save(...left), save(...right))).not.toEqual([])
    expect(rulesetDifferences(save(...right), save(...left))).not.toEqual([])
  })
})

test('a caller says which chains have no order', () => {
  const [left, right] = [
    ['-A KUBE-SERVICES -j A', '-A KUBE-SERVICES -j B'],
    ['-A KUBE-SERVICES -j B', '-A KUBE-SERVICES -j A'],
  ] as const
  expect(rulesetDifferences(save(...left), save(...right), new Set())).not.toEqual([])
  expect(rulesetDifferences(save(...left), save(...right), new Set(['KUBE-SERVICES']))).toEqual([])
})
