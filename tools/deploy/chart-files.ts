/** Files of the chart that are made from others: the schema and the table of its values, and what needs a restart. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { configSchema } from './config-schema.ts'
import { chartFolder, formatted } from './places.ts'
import { restartFields } from './restart-fields.ts'
import { documentedValues, valuesTable } from './values.ts'

/** The texts by path. */
export async function chartFiles(): Promise<ReadonlyMap<string, string>> {
  const schemaFile = join(chartFolder, 'values.schema.json')
  const fields = join(chartFolder, 'restart-fields.yaml')
  const readme = join(chartFolder, 'README.md')
  return new Map([
    [schemaFile, await formatted(schemaFile, withConfig(readFileSync(schemaFile, 'utf8')))],
    [fields, await formatted(fields, stringify(restartFields()))],
    [readme, await formatted(readme, withTable(readFileSync(readme, 'utf8')))],
  ])
}

function withConfig(text: string): string {
  const schema = JSON.parse(text) as { readonly properties: Readonly<Record<string, unknown>> }
  return JSON.stringify({ ...schema, properties: { ...schema.properties, config: configSchema() } })
}

const begin = '<!-- values: made by "npm run manifests" from values.yaml -->'
const end = '<!-- end of values -->'

function withTable(text: string): string {
  const [before, rest] = text.split(begin)
  const after = rest?.split(end)[1]
  if (before === undefined || after === undefined)
    throw new Error(`README.md of the chart lacks "${begin}" and "${end}"`)
  const table = valuesTable(documentedValues(readFileSync(join(chartFolder, 'values.yaml'), 'utf8')))
  return `${before}${begin}\n\n${table}\n\n${end}${after}`
}
