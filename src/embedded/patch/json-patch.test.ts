import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { applyJsonPatch } from './json-patch.ts'

const document = { a: { b: [1, 2, 3], 'x/y': 1, 'm~n': 2 }, c: null }

describe('a JSON patch', () => {
  test.each<[string, unknown, unknown]>([
    ['adds a field', { op: 'add', path: '/a/d', value: 1 }, { a: { ...document.a, d: 1 }, c: null }],
    [
      'inserts into a list',
      { op: 'add', path: '/a/b/1', value: 9 },
      { a: { ...document.a, b: [1, 9, 2, 3] }, c: null },
    ],
    ['appends to a list', { op: 'add', path: '/a/b/-', value: 9 }, { a: { ...document.a, b: [1, 2, 3, 9] }, c: null }],
    ['removes from a list', { op: 'remove', path: '/a/b/0' }, { a: { ...document.a, b: [2, 3] }, c: null }],
    [
      'replaces by escaped key',
      { op: 'replace', path: '/a/x~1y', value: 5 },
      { a: { ...document.a, 'x/y': 5 }, c: null },
    ],
    ['copies', { op: 'copy', from: '/a/m~0n', path: '/d' }, { ...document, d: 2 }],
    ['moves', { op: 'move', from: '/a/b/2', path: '/a/b/0' }, { a: { ...document.a, b: [3, 1, 2] }, c: null }],
    ['replaces the whole document', { op: 'replace', path: '', value: 7 }, 7],
    ['passes a test of null', { op: 'test', path: '/c', value: null }, document],
  ])('%s', (_, operation, expected) => {
    expect(applyJsonPatch(document, [operation])).toEqual(expected)
  })

  test.each<[string, unknown, string]>([
    ['a failing test', { op: 'test', path: '/a/b/0', value: 2 }, 'testing value /a/b/0 failed'],
    ['a missing path', { op: 'remove', path: '/nope' }, 'the path /nope does not exist'],
    ['a missing parent', { op: 'add', path: '/nope/x', value: 1 }, 'the path /nope/x does not exist'],
    ['a replacement of nothing', { op: 'replace', path: '/nope', value: 1 }, 'does not exist'],
    ['an index beyond the end', { op: 'add', path: '/a/b/4', value: 1 }, 'index 4 is not in the list of 3'],
    ['an index with a leading zero', { op: 'remove', path: '/a/b/01' }, 'index 01 is not in the list'],
    ['a move into itself', { op: 'move', from: '/a', path: '/a/b' }, 'cannot move /a into itself'],
    ['an inherited key', { op: 'remove', path: '/toString' }, 'does not exist'],
    ['an unknown operation', { op: 'frob', path: '/a' }, 'unknown operation "frob"'],
    ['a missing value', { op: 'add', path: '/a' }, 'needs a value'],
    ['a path without slash', { op: 'remove', path: 'a' }, 'must start with "/"'],
  ])('with %s is refused', (_, operation, message) => {
    expect(() => applyJsonPatch(document, [operation])).toThrow(message)
  })

  test('may copy up to 3 MiB, counted over all its operations', () => {
    const half = 'x'.repeat(1.5 * 1024 * 1024 - 2) // and two quotes
    const copies = (count: number) =>
      Array.from({ length: count }, (_, index) => ({ op: 'copy', from: '/half', path: `/${index}` }))
    expect(applyJsonPatch({ half }, copies(2))).toEqual({ half, 0: half, 1: half })
    expect(() => applyJsonPatch({ half }, copies(3))).toThrow('may add up to 3145728 bytes')
  })

  test('that is no list is refused', () => {
    expect(() => applyJsonPatch(document, { op: 'remove', path: '/a' })).toThrow('must be a list of operations')
  })
})

const json = fc.jsonValue({ maxDepth: 3 })
const object = fc.dictionary(fc.string(), json)

test('adding and removing any key gives the document back, and never changes the input', () => {
  fc.assert(
    fc.property(object, fc.string(), json, (given, key, value) => {
      fc.pre(!Object.hasOwn(given, key))
      const path = `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
      const before = JSON.stringify(given)
      const added = applyJsonPatch(given, [
        { op: 'add', path, value },
        { op: 'test', path, value },
      ])
      expect(applyJsonPatch(added, [{ op: 'remove', path }])).toEqual(given)
      expect(JSON.stringify(given)).toBe(before)
    }),
  )
})
