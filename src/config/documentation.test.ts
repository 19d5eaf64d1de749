import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { fieldPaths, flagTables } from './testing/documented.ts'

const page = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8')

/** Prettier pads the cells of a table, which is not a difference. */
const unpadded = page.replaceAll(/ {2,}/g, ' ').replaceAll(/-{3,}/g, '---')

test('docs/configuration.md has the tables of the flags as they are', () => {
  for (const line of flagTables().split('\n')) expect(unpadded).toContain(line)
})

for (const path of fieldPaths()) {
  test(`docs/configuration.md explains the field ${path}`, () => {
    expect(page).toContain(`\`${path}\``)
  })
}
