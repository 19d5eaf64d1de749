/** What became of the tests inside a guest, from vitest's JSON report. */
export interface RelayedTest {
  readonly name: string
  readonly isSkipped: boolean
  /** Why it failed; empty when it did not. */
  readonly failure: string
}

interface Report {
  readonly testResults: readonly {
    readonly name: string
    readonly status: 'passed' | 'failed'
    /** Why the file could not be run at all. */
    readonly message: string
    readonly assertionResults: readonly {
      readonly ancestorTitles: readonly string[]
      readonly title: string
      readonly status: 'passed' | 'failed' | 'skipped' | 'pending' | 'todo'
      readonly failureMessages: readonly string[]
    }[]
  }[]
}

/** `printed` is shown where there is nothing better. */
export function readReport(text: string | undefined, printed: string): readonly RelayedTest[] {
  if (text === undefined) return [{ name: 'the tests run', isSkipped: false, failure: printed }]
  return (JSON.parse(text) as Report).testResults.flatMap(({ name, status, message, assertionResults }) => {
    const tests = assertionResults.map(({ ancestorTitles, title, status: outcome, failureMessages }) => ({
      name: [...ancestorTitles, title].join(' > '),
      isSkipped: outcome !== 'passed' && outcome !== 'failed',
      failure: outcome === 'failed' ? failureMessages.join('\n') : '',
    }))
    const isUnexplained = status === 'failed' && tests.every(({ failure }) => failure === '')
    return isUnexplained ? [...tests, { name: `${name} loads`, isSkipped: false, failure: message || printed }] : tests
  })
}
