/** Prints the test files that failed in a report, so that they can be run again by themselves. */
import { readReport } from './vitest-report.ts'

const files = process.argv.slice(2).flatMap((path) => readReport(path))
const failed = files.filter(({ status }) => status === 'failed').map(({ name }) => name)
if (failed.length > 0) process.stdout.write(`${failed.join('\n')}\n`)
