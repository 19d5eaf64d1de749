/** docs/doctor.md lists every finding that a check can make, with the words of the code. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { checks } from './checks.ts'
import { notChecked } from './finding.ts'

test('every finding is in docs/doctor.md, and nothing else is', () => {
  const page = readFileSync(new URL('../../../docs/doctor.md', import.meta.url), 'utf8')
  const rows = [...page.matchAll(/^\| `([\w-]+)`\s+\| (\w+)\s+\| (.*?)\s+\| (.*?)\s+\|$/gm)].map(
    ([, name = '', severity = '', meaning = '', fix = '']) => ({ name, severity, meaning, fix }),
  )
  const kinds = checks.flatMap(({ finds }) => Object.entries(finds).map(([name, kind]) => ({ name, ...kind })))
  const known = [...kinds, notChecked].map(({ name, severity, meaning, fix }) => ({
    name,
    severity,
    meaning: cell(meaning),
    fix: cell(fix),
  }))
  expect(rows).toEqual(known)
})

test('every check and every finding has a name of its own, for scripts', () => {
  const names = [...checks.map(({ name }) => `check ${name}`), ...checks.flatMap(({ finds }) => Object.keys(finds))]
  expect(new Set(names).size).toBe(names.length)
  for (const name of names) expect(name).toMatch(/^(?:check )?[a-z0-9]+(?:-[a-z0-9]+)*$/)
})

function cell(text: string): string {
  return text.replaceAll('|', '\\|')
}
