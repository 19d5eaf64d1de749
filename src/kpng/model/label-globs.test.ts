import { expect, test } from 'vitest'
import { globProblem, labelFilter } from './label-globs.ts'

const labels = { 'app.kubernetes.io/name': 'web', tier: 'front', b: '2', a: '1', number: 7 }

test.each([
  [[], []],
  [['*'], ['a', 'app.kubernetes.io/name', 'b', 'tier']],
  [['app.*'], ['app.kubernetes.io/name']],
  [['*/name'], ['app.kubernetes.io/name']],
  [['?'], ['a', 'b']],
  [['[ax]'], ['a']],
  [['[!a]'], ['b']],
  [['{tier,b}'], ['b', 'tier']],
  [['tie'], []],
])('%j keeps %j, in the order of their names', (globs, kept) => {
  expect(Object.keys(labelFilter(globs)(labels))).toEqual(kept)
})

test('a pattern that is not closed is told at once', () => {
  expect(globProblem(['app.*', '[a-'])).toMatch(/"\[a-" is not a pattern/)
  expect(globProblem(['app.*', '[a-c]', '{x,y}'])).toBeUndefined()
})
