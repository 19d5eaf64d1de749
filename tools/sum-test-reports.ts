/**
 * Adds up vitest's JSON reports: names what was skipped and what failed, and ends with one line for machines. A test
 * that is in several reports counts as in the last one, and is named when it failed before.
 */
import { readReport } from './vitest-report.ts'

type Outcome = 'passed' | 'failed' | 'skipped'

const outcomes = new Map<string, Outcome>()
for (const path of process.argv.slice(2))
  for (const file of readReport(path)) {
    // A file that fails before its first test has no tests in the report.
    if (file.status === 'failed' && !file.assertionResults.some(({ status }) => status === 'failed'))
      note(file.name, 'failed')
    else outcomes.delete(file.name)
    for (const { fullName, status } of file.assertionResults)
      note(`${file.name}: ${fullName}`, status === 'passed' || status === 'failed' ? status : 'skipped')
  }
if (![...outcomes.values()].includes('passed')) note('no test ran at all', 'failed')

const counts: Record<Outcome, number> = { passed: 0, failed: 0, skipped: 0 }
for (const [name, outcome] of outcomes) {
  counts[outcome]++
  if (outcome !== 'passed') process.stdout.write(`${outcome}: ${name}\n`)
}
process.stdout.write(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`)
process.exitCode = counts.failed > 0 ? 1 : 0

function note(name: string, outcome: Outcome): void {
  if (outcomes.get(name) === 'failed' && outcome === 'passed')
    process.stdout.write(`unsteady (failed among others, passed alone): ${name}\n`)
  outcomes.set(name, outcome)
}
