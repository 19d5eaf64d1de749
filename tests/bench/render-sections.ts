/** Sections as Markdown, in the shape that the repository's formatter would give it. */
import { format, resolveConfig } from 'prettier'
import { docsPage } from './docs-page.ts'
import type { BenchSection, BenchTable } from './bench-group.ts'

export async function renderSections(conditions: string, sections: readonly BenchSection[]): Promise<string> {
  const parts = [conditions, ...sections.map(renderSection)]
  const markdown = await format(parts.join('\n\n'), { ...(await resolveConfig(docsPage)), parser: 'markdown' })
  return markdown.trim()
}

function renderSection({ title, about, tables, findings }: BenchSection): string {
  const list = findings.map((finding) => `- ${finding}`).join('\n')
  return [`### ${title}`, about, ...tables.map(renderTable), list].filter((part) => part !== '').join('\n\n')
}

function renderTable({ columns, rows }: BenchTable): string {
  const numbersRight = columns.map((_, index) => (index === 0 ? '---' : '---:'))
  return [columns, numbersRight, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}
