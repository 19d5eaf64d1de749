import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { format, resolveConfig } from 'prettier'
import { expect, test } from 'vitest'
import { allBehaviours } from './behaviours.ts'
import { allModes, linuxModes, ourLinuxModes } from './difference.ts'
import { moveBetween } from './move.ts'
import { differencesPage } from './testing/differences-page.ts'

const root = new URL('../../../', import.meta.url)
const page = fileURLToPath(new URL('docs/differences.md', root))

test('every behaviour has a name of its own', () => {
  const names = allBehaviours.map(({ name }) => name)
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
})

test('whoever has to decide is told what to do', () => {
  expect(allBehaviours.filter(({ attention, action }) => attention === 'decide' && action === '')).toEqual([])
})

test('every behaviour names a file that shows it', () => {
  const missing = allBehaviours.filter(({ shownBy }) => !existsSync(new URL(shownBy, root)))
  expect(missing.map(({ name, shownBy }) => `${name}: ${shownBy}`)).toEqual([])
})

test('every pair of modes has a way there and a way back', () => {
  const pairs = [
    ...linuxModes.flatMap((from) => ourLinuxModes.map((to) => [from, to] as const)),
    ['kernelspace', 'kernelspace'] as const,
    ['kernelspace', 'userspace'] as const,
  ]
  for (const [from, to] of pairs) {
    const { lost, steps, lostOnTheWayBack, back } = moveBetween(from, to)
    expect([lost, ...steps, lostOnTheWayBack, ...back]).not.toContain('')
    expect(Math.min(steps.length, back.length)).toBeGreaterThan(0)
  }
})

test('every mode has behaviours of its own', () => {
  for (const mode of allModes)
    expect(allBehaviours.some(({ from, to }) => from.length === 1 && from[0] === mode && to.includes(mode))).toBe(true)
})

test('docs/differences.md is made of these tables (npx vitest run src/cli/migrate -u writes it)', async () => {
  const wanted = await format(differencesPage(), { ...(await resolveConfig(page)), parser: 'markdown' })
  await expect(wanted).toMatchFileSnapshot(page)
})
