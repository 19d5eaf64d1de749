/** docs/benchmarks.md keeps the results of each group between two markers; all else on the page is written by hand. */
import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

export const docsPage = fileURLToPath(new URL('../../docs/benchmarks.md', import.meta.url))

export async function writeResults(group: string, markdown: string): Promise<void> {
  await writeFile(docsPage, withResults(await readFile(docsPage, 'utf8'), group, markdown))
}

export function withResults(page: string, group: string, markdown: string): string {
  const start = `<!-- bench ${group}: start -->`
  const end = `<!-- bench ${group}: end -->`
  const [before, rest, ...more] = page.split(start)
  const after = rest?.split(end)[1]
  if (before === undefined || after === undefined || more.length > 0)
    throw new Error(
      `docs/benchmarks.md has no place for group "${group}": add the lines ${start} and ${end} to it once`,
    )
  return `${before}${start}\n\n${markdown}\n\n${end}${after}`
}
