/** What a run of the suite came to, read from the report that ginkgo wrote. */
import { readFile } from 'node:fs/promises'

export interface TestResult {
  readonly name: string
  readonly outcome: 'passed' | 'failed' | 'skipped'
  readonly seconds: number
  /** Why it failed, or skipped itself. */
  readonly reason?: string
  /** It failed in a crowd, and then passed alone. */
  readonly atSecondTry?: true
}

/** The parts of ginkgo's report that we read. */
interface SuiteReport {
  readonly SuiteSucceeded: boolean
  readonly SpecialSuiteFailureReasons: readonly string[] | null
  readonly SpecReports: readonly SpecReport[]
}

interface SpecReport {
  readonly LeafNodeType: string
  readonly LeafNodeText: string
  readonly ContainerHierarchyTexts: readonly string[] | null
  readonly State: string
  /** In nanoseconds. */
  readonly RunTime: number
  readonly Failure?: { readonly Message: string }
}

export async function readResults(file: string): Promise<readonly TestResult[]> {
  return resultsOf(JSON.parse(await readFile(file, 'utf8')) as readonly SuiteReport[])
}

export function resultsOf(suites: readonly SuiteReport[]): readonly TestResult[] {
  const results = suites.flatMap(({ SpecReports }) => SpecReports.flatMap(resultOf))
  for (const suite of suites)
    for (const reason of suite.SpecialSuiteFailureReasons ?? [])
      results.push({ name: 'the suite as a whole', outcome: 'failed', seconds: 0, reason })
  return results.toSorted((one, other) => (one.name < other.name ? -1 : 1))
}

function resultOf(spec: SpecReport): readonly TestResult[] {
  const name = [...(spec.ContainerHierarchyTexts ?? []), spec.LeafNodeText].join(' ').trim()
  const seconds = Math.round(spec.RunTime / 1e9)
  const reason = spec.Failure?.Message
  const isTest = spec.LeafNodeType === 'It'
  switch (spec.State) {
    case 'passed':
      return isTest ? [{ name, outcome: 'passed', seconds }] : []
    case 'skipped':
      // One that was not selected has no reason; one that skips itself says why.
      return reason === undefined ? [] : [{ name, outcome: 'skipped', seconds, reason }]
    case 'pending':
      return []
    default:
      return [
        {
          name: isTest ? name : `${spec.LeafNodeType} ${name}`.trim(),
          outcome: 'failed',
          seconds,
          reason: reason ?? spec.State,
        },
      ]
  }
}

/** The results of a run, and for what was run again, those of the second run. */
export function withSecondTries(first: readonly TestResult[], second: readonly TestResult[]): readonly TestResult[] {
  const againByName = new Map(second.map((result) => [result.name, result]))
  return first.map((result) => {
    const again = againByName.get(result.name)
    if (result.outcome !== 'failed' || again === undefined) return result
    return again.outcome === 'passed' ? { ...again, atSecondTry: true } : again
  })
}
