/** Results in the words and the shape of the other test tiers, so that they can be added up. */
import { writeFile } from 'node:fs/promises'
import type { TestResult } from './results.ts'

export interface ProxyResults {
  readonly proxy: string
  readonly results: readonly TestResult[]
}

export interface Counts {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

export function countOutcomes(results: readonly TestResult[]): Counts {
  const count = (outcome: TestResult['outcome']): number => results.filter((each) => each.outcome === outcome).length
  return { passed: count('passed'), failed: count('failed'), skipped: count('skipped') }
}

export function renderCounts({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`
}

/** What did not pass, with the reason, and what passed only alone. */
export function renderProblems({ proxy, results }: ProxyResults): string {
  return results
    .map(({ name, outcome, reason = '', atSecondTry }) => {
      if (atSecondTry === true) return `unsteady (failed among others, passed alone): ${proxy}: ${name}\n`
      return outcome === 'passed' ? '' : `${outcome}: ${proxy}: ${name}: ${firstLine(reason)}\n`
    })
    .join('')
}

function firstLine(text: string): string {
  return text.trim().split('\n')[0] ?? ''
}

/** As the JSON report of vitest: a proxy is a file. */
export async function writeVitestReport(path: string, all: readonly ProxyResults[]): Promise<void> {
  const testResults = all.map(({ proxy, results }) => ({
    name: proxy,
    status: countOutcomes(results).failed > 0 || results.length === 0 ? 'failed' : 'passed',
    message: results.length === 0 ? 'no test was run' : '',
    assertionResults: results.map(({ name, outcome, seconds, reason }) => ({
      fullName: name,
      status: outcome,
      duration: seconds * 1000,
      failureMessages: outcome === 'failed' ? [reason ?? ''] : [],
    })),
  }))
  await writeFile(path, JSON.stringify({ testResults }))
}
