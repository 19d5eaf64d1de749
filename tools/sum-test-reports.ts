/** Adds up vitest's JSON reports: names what was skipped and what failed, and ends with one line for machines. */
import { readFileSync } from 'node:fs'

interface Report {
  readonly testResults: readonly {
    readonly name: string
    readonly status: string
    readonly message: string
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[]
  }[]
}

const counts = { passed: 0, failed: 0, skipped: 0 }
for (const path of process.argv.slice(2)) {
  const report = JSON.parse(readFileSync(path, 'utf8')) as Report
  for (const file of report.testResults) {
    // A file that breaks before its first test has no test to count, but it failed.
    if (file.status === 'failed' && !file.assertionResults.some(({ status }) => status === 'failed'))
      note('failed', file.name)
    for (const { fullName, status } of file.assertionResults)
      note(status === 'passed' || status === 'failed' ? status : 'skipped', fullName)
  }
}
if (counts.passed === 0) note('failed', 'no test ran at all')
process.stdout.write(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`)
process.exitCode = counts.failed > 0 ? 1 : 0

function note(outcome: keyof typeof counts, name: string): void {
  counts[outcome]++
  if (outcome !== 'passed') process.stdout.write(`${outcome}: ${name}\n`)
}
