import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, test } from 'vitest'
import { readReport } from '../../tools/vitest-report.ts'
import { countOutcomes, renderCounts, renderProblems, writeVitestReport } from './report.ts'
import { withSecondTries } from './results.ts'
import type { TestResult } from './results.ts'

const passed: TestResult = { name: 'one', outcome: 'passed', seconds: 1 }
const failed: TestResult = { name: 'two', outcome: 'failed', seconds: 2, reason: 'no answer\nwithin 2 min' }
const skipped: TestResult = { name: 'three', outcome: 'skipped', seconds: 0, reason: 'needs ssh' }

test('every outcome counts once, and what did not pass is named with its reason', () => {
  const results = [passed, failed, skipped]
  assert.equal(renderCounts(countOutcomes(results)), '1 passed, 1 failed, 1 skipped')
  assert.equal(
    renderProblems({ proxy: 'ours', results }),
    'failed: ours: two: no answer\nskipped: ours: three: needs ssh\n',
  )
})

test('a test that passes alone has passed, and is named', () => {
  const results = withSecondTries([passed, failed], [{ ...failed, outcome: 'passed' }])
  assert.equal(renderCounts(countOutcomes(results)), '2 passed, 0 failed, 0 skipped')
  assert.equal(renderProblems({ proxy: 'ours', results }), 'unsteady (failed among others, passed alone): ours: two\n')
})

test('a test that fails again has failed', () => {
  const results = withSecondTries([passed, failed], [{ ...failed, reason: 'still no answer' }])
  assert.equal(renderProblems({ proxy: 'ours', results }), 'failed: ours: two: still no answer\n')
})

test('the report is one that the tools for all tiers can read', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-e2e-report-'))
  try {
    const file = join(folder, 'report.json')
    await writeVitestReport(file, [
      { proxy: 'ours', results: [passed, failed] },
      { proxy: 'nothing ran', results: [] },
    ])
    const [ours, empty] = readReport(file)
    assert.deepEqual(
      ours?.assertionResults.map(({ fullName, status }) => [fullName, status]),
      [
        ['one', 'passed'],
        ['two', 'failed'],
      ],
    )
    assert.equal(empty?.status, 'failed')
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
