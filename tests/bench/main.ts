/**
 * `npm run bench -- [group…] [--runs=N] [--services=N] [--write]` measures and prints Markdown; with `--write` the results also go
 * into docs/benchmarks.md. Without a name every group runs.
 */
import { parseArgs } from 'node:util'
import { describeConditions } from './conditions.ts'
import { writeResults } from './docs-page.ts'
import { groups } from './groups.ts'
import { renderSections } from './render-sections.ts'

try {
  await main()
} catch (error) {
  process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      write: { type: 'boolean', default: false },
      runs: { type: 'string', default: '5' },
      services: { type: 'string' },
    },
  })
  const runs = Number(values.runs)
  if (!Number.isInteger(runs) || runs < 1) throw new Error(`--runs must be a whole number from 1, not "${values.runs}"`)
  const services = values.services === undefined ? undefined : Number(values.services)
  if (services !== undefined && (!Number.isInteger(services) || services < 1))
    throw new Error(`--services must be a whole number from 1, not "${values.services}"`)
  if (services !== undefined && values.write) throw new Error('--write is for the usual size: leave --services out')
  const unknown = positionals.filter((name) => !groups.some((group) => group.name === name))
  if (unknown.length > 0) {
    const known = groups.map(({ name }) => name).join(', ')
    throw new Error(`no such group: ${unknown.join(', ')}. Known groups: ${known}`)
  }
  for (const group of groups) {
    if (positionals.length > 0 && !positionals.includes(group.name)) continue
    const conditions = describeConditions()
    const sections = await group.run({
      runs,
      ...(services !== undefined && { services }),
      progress: (message) => process.stderr.write(`${group.name}: ${message}\n`),
    })
    const markdown = await renderSections(conditions, sections)
    process.stdout.write(`## ${group.name}\n\n${markdown}\n\n`)
    if (values.write) await writeResults(group.name, markdown)
  }
}
