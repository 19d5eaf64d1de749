import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { commandShapes, daemonShape, shownFlags } from '../../src/cli/completion/command-shapes.ts'
import { manPage } from './man-page.ts'

const page = manPage('1.2.3', 0)

test('the manual has every command, and every flag that the help shows', () => {
  const plain = page.replaceAll(String.raw`\-`, '-')
  for (const name of commandShapes.keys()) expect(plain).toMatch(new RegExp(`^\\.B ${name}$`, 'm'))
  for (const shape of [daemonShape, ...commandShapes.values()])
    for (const { name } of shownFlags(shape).filter((flag) => flag.name !== 'help'))
      expect(plain).toMatch(new RegExp(`^\\.B (?:-\\w, )?--${name}(?:=|$)`, 'm'))
  expect(plain.split('\n')[0]).toBe('.TH FAIRLEAD 8 1970-01-01 "Fairlead 1.2.3" "System Administration"')
})

for (const [program, ...args] of [
  ['groff', '-man', '-Tutf8', '-ww', '-z'],
  ['mandoc', '-Tlint', '-Wwarning'],
] as const) {
  const isHere = spawnSync(program, ['--version']).error === undefined
  test.skipIf(!isHere)(`${program} has no complaint${isHere ? '' : ' (not installed)'}`, () => {
    const { status, stdout, stderr } = spawnSync(program, args, { input: page, encoding: 'utf8' })
    expect([status, stdout, stderr]).toEqual([0, '', ''])
  })
}
