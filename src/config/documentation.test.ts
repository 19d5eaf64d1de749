import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { fairleadFieldPaths, fieldPaths, flagTables, liveCells } from './testing/documented.ts'

const page = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8')

/** Prettier pads the cells of a table, which is not a difference. */
const unpadded = page.replaceAll(/ {2,}/g, ' ').replaceAll(/-{3,}/g, '---')

test('docs/configuration.md has the tables of the flags as they are', () => {
  for (const line of flagTables().split('\n')) expect(unpadded).toContain(line)
})

const paths = [...new Set([...fieldPaths(), ...fairleadFieldPaths()])]

for (const path of paths) {
  test(`docs/configuration.md explains the field ${path}`, () => {
    expect(page).toContain(`\`${path}\``)
  })
}

/** They say what the document is. */
const notSettings = new Set(['apiVersion', 'kind'])

for (const path of paths.filter((name) => !notSettings.has(name))) {
  test(`docs/configuration.md says whether ${path} can change while Fairlead runs`, () => {
    const fields = unpadded.slice(unpadded.indexOf('## Fields of the file'))
    const row = fields.split('\n').find((line) => new RegExp(`^\\| \\*{0,2}\`${path}\`\\*{0,2} \\|`).test(line))
    expect(row?.split(/(?<!\\)\|/)[4]?.trim()).toBe(liveCells().get(path))
  })
}

test('every field that can change is a field of the file', () => {
  expect([...liveCells().keys()].filter((name) => !paths.includes(name))).toEqual([])
})
