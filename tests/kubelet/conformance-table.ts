/** The tables of docs/conformance.md, made from the recorded runs and from what the runner leaves out. */
import { format } from 'prettier'
import type { RecordedRun } from './recorded-runs.ts'
import { countOutcomes } from './report.ts'
import { leftOut } from './selection.ts'

/** A proxy, as a row of the table. */
export interface Row {
  readonly name: string
  readonly title: string
  /** Its runs say what such a cluster can pass. */
  readonly isBaseline: boolean
}

/** The page with the tables of now in the place of those that it has. */
export async function renderPage(
  oldPage: string,
  rows: readonly Row[],
  runOf: (proxy: string) => RecordedRun | undefined,
): Promise<string> {
  const withResults = replaceBlock(oldPage, 'results', renderTable(rows, runOf))
  return format(replaceBlock(withResults, 'left out', renderLeftOut()), { parser: 'markdown', printWidth: 120 })
}

function replaceBlock(page: string, name: string, content: string): string {
  const [begin, end] = [`<!-- ${name}: written by npm run test:e2e -- --table -->`, `<!-- end of ${name} -->`]
  const [from, to] = [page.indexOf(begin), page.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`docs/conformance.md has no place for a table: "${begin}" … "${end}"`)
  return `${page.slice(0, from + begin.length)}\n\n${content}\n${page.slice(to)}`
}

function renderLeftOut(): string {
  const lines = leftOut.map(({ words, reason }) => `| ${words.map((word) => `\`[${word}]\``).join(', ')} | ${reason} |`)
  return `| Tests | Why |\n| --- | --- |\n${lines.join('\n')}\n`
}

function renderTable(rows: readonly Row[], runOf: (proxy: string) => RecordedRun | undefined): string {
  const baseline = new Set(
    rows
      .filter(({ isBaseline }) => isBaseline)
      .flatMap(({ name }) => runOf(name)?.results ?? [])
      .filter(({ outcome }) => outcome === 'passed')
      .map(({ name }) => name),
  )
  const lines: string[] = []
  const losses: string[] = []
  for (const { name: proxy, title, isBaseline } of rows) {
    const run = runOf(proxy)
    if (run === undefined) {
      lines.push(`| ${title} | not recorded yet | | | | | |`)
      continue
    }
    const { passed, failed, skipped } = countOutcomes(run.results)
    const again = run.results.filter(({ atSecondTry }) => atSecondTry === true).length
    const lost = run.results.filter(({ name, outcome }) => outcome === 'failed' && baseline.has(name))
    // Without a baseline there is nothing to compare with, and that is not zero.
    const lostCount = isBaseline ? '' : baseline.size === 0 ? 'not known yet' : String(lost.length)
    lines.push(
      `| ${title} | ${passed} | ${failed} | ${skipped} | ${again} | ${lostCount} | ${run.date}, ${run.minutes} min |`,
    )
    if (!isBaseline)
      losses.push(...lost.map(({ name, reason = '' }) => `- ${title}: \`${name}\`: ${reason.replaceAll('|', '/')}\n`))
  }
  const head =
    '| Proxy | Passed | Failed | Skip themselves | Passed at the second try | Fail here, pass with kube-proxy | Recorded |\n' +
    '| --- | --- | --- | --- | --- | --- | --- |\n'
  const list = losses.length === 0 ? '' : `\nWhat passes with kube-proxy and fails here:\n\n${losses.join('')}`
  return `${head}${lines.join('\n')}\n${list}`
}
