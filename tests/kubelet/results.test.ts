import { assert, test } from 'vitest'
import { resultsOf } from './results.ts'

const spec = {
  LeafNodeType: 'It',
  LeafNodeText: 'should work',
  ContainerHierarchyTexts: ['[sig-network] Services'],
  RunTime: 2_400_000_000,
}
const suite = { SuiteSucceeded: true, SpecialSuiteFailureReasons: null }

test('a test that passed, failed or ran out of time is a result', () => {
  const SpecReports = [
    { ...spec, State: 'passed' },
    { ...spec, State: 'failed', LeafNodeText: 'should fail', Failure: { Message: 'no answer' } },
    { ...spec, State: 'timedout', LeafNodeText: 'should hang' },
  ]
  assert.deepEqual(resultsOf([{ ...suite, SpecReports }]), [
    { name: '[sig-network] Services should fail', outcome: 'failed', seconds: 2, reason: 'no answer' },
    { name: '[sig-network] Services should hang', outcome: 'failed', seconds: 2, reason: 'timedout' },
    { name: '[sig-network] Services should work', outcome: 'passed', seconds: 2 },
  ])
})

test('only a test that skips itself was skipped: the others were not selected', () => {
  const SpecReports = [
    { ...spec, State: 'skipped' },
    { ...spec, State: 'skipped', Failure: { Message: 'needs three nodes' } },
  ]
  assert.deepEqual(resultsOf([{ ...suite, SpecReports }]), [
    { name: '[sig-network] Services should work', outcome: 'skipped', seconds: 2, reason: 'needs three nodes' },
  ])
})

test('steps around the tests count when they fail only', () => {
  const before = { ...spec, LeafNodeType: 'SynchronizedBeforeSuite', LeafNodeText: '', ContainerHierarchyTexts: null }
  const SpecReports = [
    { ...before, State: 'passed' },
    { ...before, State: 'failed', Failure: { Message: 'no nodes' } },
  ]
  assert.deepEqual(resultsOf([{ ...suite, SpecReports }]), [
    { name: 'SynchronizedBeforeSuite', outcome: 'failed', seconds: 2, reason: 'no nodes' },
  ])
})

test('a suite that was cut short has failed, whatever its tests did', () => {
  const results = resultsOf([{ ...suite, SpecialSuiteFailureReasons: ['Suite Timeout Elapsed'], SpecReports: [] }])
  assert.deepEqual(
    results.map(({ outcome, reason }) => [outcome, reason]),
    [['failed', 'Suite Timeout Elapsed']],
  )
})
