import { expect, test } from 'vitest'
import { features } from '../../../dataplane/ebpf/probes.ts'
import type { FeatureAnswer, FeatureName } from '../../../dataplane/ebpf/probes.ts'
import { missingFeature } from './features.ts'

function answersWith(answer: FeatureAnswer['answer'], ...names: readonly FeatureName[]): readonly FeatureAnswer[] {
  return features.map((feature) =>
    names.includes(feature.name) ? { feature, answer, why: 'the kernel says so' } : { feature, answer: 'yes', why: '' },
  )
}

test('a feature that is needed and that the kernel lacks is named, with what the kernel said', () => {
  expect(missingFeature(answersWith('no', 'shared-memory', 'links'))).toBe(
    'this kernel lacks maps in shared memory (Linux 5.5): the kernel says so; use Linux 5.14 or newer that has it, or another mode: --proxy-mode=nftables (Linux 5.13), or --proxy-mode=iptables',
  )
})

test('a right that is missing says nothing about the kernel', () => {
  expect(missingFeature(answersWith('not allowed', 'hooks', 'links'))).toBe('the kernel says so')
})

test('where the kernel could not be asked, what went wrong is the reason, and no other kernel is advised', () => {
  expect(missingFeature(answersWith('failed', 'shared-memory', 'links'))).toBe('the kernel says so')
  expect(missingFeature(answersWith('failed', 'refusals', 'iterator'))).toBeUndefined()
})

test.each(['yes', 'unknown'] as const)('an answer "%s" is in nobody\'s way', (answer) => {
  expect(missingFeature(answersWith(answer, 'hooks', 'links'))).toBeUndefined()
})

test("what the mode can do without is in nobody's way", () => {
  expect(missingFeature(answersWith('no', 'refusals', 'iterator', 'batches'))).toBeUndefined()
})
