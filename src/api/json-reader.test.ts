import { describe, expect, test } from 'vitest'
import { JsonReader } from './json-reader.ts'
import type { ObjectKey } from './records.ts'

/** Reads the field `x`, and returns what was noted about it. */
function reading<T>(value: unknown, how: (read: JsonReader, parent: { x: unknown }) => T) {
  const read = new JsonReader('Service', 'demo/web' as ObjectKey)
  const result = how(read, { x: value })
  return { result, problems: read.problems.map(({ field, reason }) => `${field}: ${reason}`) }
}

const accessors: Record<string, (read: JsonReader, parent: { x: unknown }) => unknown> = {
  object: (read, parent) => read.object(parent, 'x', 'spec.x'),
  list: (read, parent) => read.list(parent, 'x', 'spec.x'),
  objects: (read, parent) => [...read.objects(parent, 'x', 'spec.x')],
  strings: (read, parent) => [...read.strings(parent, 'x', 'spec.x')],
  string: (read, parent) => read.string(parent, 'x', 'spec.x'),
  boolean: (read, parent) => read.boolean(parent, 'x', 'spec.x', true),
  integer: (read, parent) => read.integer(parent, 'x', 'spec.x', { min: 1, max: 10 }),
  choice: (read, parent) => read.choice(parent, 'x', 'spec.x', ['a', 'b'], 'b'),
}

describe.each([
  ['object', {}, { a: 1 }, { a: 1 }, [1]],
  ['list', [], [1, 'a'], [1, 'a'], { a: 1 }],
  [
    'objects',
    [],
    [{ a: 1 }, { b: 2 }],
    [
      [{ a: 1 }, 0],
      [{ b: 2 }, 1],
    ],
    'a',
  ],
  [
    'strings',
    [],
    ['a', 'b'],
    [
      ['a', 0],
      ['b', 1],
    ],
    'a',
  ],
  ['string', '', 'a', 'a', 7],
  ['boolean', true, false, false, 'false'],
  ['integer', undefined, 7, 7, '7'],
  ['choice', 'b', 'a', 'a', 7],
] as const)('%s', (name, fallback, good, read, wrong) => {
  const how = accessors[name] ?? (() => undefined)

  test('is the value if it is good', () => {
    expect(reading(good, how)).toEqual({ result: read, problems: [] })
  })

  test('is the fallback, in silence, if it is missing or null', () => {
    expect(reading(undefined, how)).toEqual({ result: fallback, problems: [] })
    expect(reading(null, how)).toEqual({ result: fallback, problems: [] })
  })

  test('is the fallback, with a problem, if it is something else', () => {
    const { result, problems } = reading(wrong, how)
    expect(result).toEqual(fallback)
    expect(problems).toEqual([expect.stringMatching(/^spec\.x: must be /)])
  })
})

test.each([
  ['objects', [{ a: 1 }, 7, null, [], { b: 2 }], [0, 4], ['spec.x[1]', 'spec.x[2]', 'spec.x[3]']],
  ['strings', ['a', 7, null, 'b'], [0, 3], ['spec.x[1]', 'spec.x[2]']],
])('of a list of %s the wrong ones are left out and told', (name, value, kept, told) => {
  const { result, problems } = reading(value, accessors[name] ?? (() => undefined))
  expect((result as [unknown, number][]).map(([, index]) => index)).toEqual(kept)
  expect(problems.map((problem) => problem.split(':')[0])).toEqual(told)
})

test.each([
  [1, true],
  [10, true],
  [0, false],
  [11, false],
  [1.5, false],
  [Number.NaN, false],
])('a whole number from 1 to 10 is %d: %s', (value, isGood) => {
  const { result, problems } = reading(value, accessors['integer'] ?? (() => undefined))
  expect(result).toBe(isGood ? value : undefined)
  expect(problems).toHaveLength(isGood ? 0 : 1)
})

test('a word that is none of the choices is told with them', () => {
  const how = accessors['choice'] ?? (() => undefined)
  expect(reading('c', how)).toEqual({ result: 'b', problems: ['spec.x: must be one of a, b, not "c"'] })
  expect(reading('', how)).toEqual({ result: 'b', problems: [] })
})

test('a problem names the object', () => {
  const read = new JsonReader('Service', 'demo/web' as ObjectKey)
  read.problem('spec.x', 'is wrong')
  expect(read.problems).toEqual([{ kind: 'Service', key: 'demo/web', field: 'spec.x', reason: 'is wrong' }])
})
