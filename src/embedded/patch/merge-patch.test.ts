import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isJsonObject } from '../../api/json-reader.ts'
import { applyMergePatch } from './merge-patch.ts'

describe('a merge patch', () => {
  // The table of RFC 7386, appendix A.
  test.each<[unknown, unknown, unknown]>([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [
      ['a', 'b'],
      ['c', 'd'],
      ['c', 'd'],
    ],
    [{ a: 'b' }, ['c'], ['c']],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])('on %j with %j gives %j', (current, patch, expected) => {
    expect(applyMergePatch(current, patch)).toEqual(expected)
  })

  test('treats __proto__ as a key like any other', () => {
    const merged = applyMergePatch({}, JSON.parse('{"__proto__":{"polluted":true}}'))
    expect(JSON.stringify(merged)).toBe('{"__proto__":{"polluted":true}}')
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  })
})

/** The patch that turns one document into another. A null would remove its field, so there are none. */
function diff(from: unknown, to: unknown): unknown {
  if (!isJsonObject(from) || !isJsonObject(to)) return to
  const keys = [...new Set([...Object.keys(from), ...Object.keys(to)])]
  return Object.fromEntries(
    keys.map((key) => [
      key,
      Object.hasOwn(to, key) ? (Object.hasOwn(from, key) ? diff(from[key], to[key]) : to[key]) : null,
    ]),
  )
}

const { object } = fc.letrec<{ value: unknown; object: Record<string, unknown> }>((tie) => ({
  value: fc.oneof({ maxDepth: 3 }, fc.integer(), fc.string(), fc.array(fc.integer()), tie('object')),
  object: fc.dictionary(fc.string({ maxLength: 2 }), tie('value'), { maxKeys: 4 }),
}))

test('a patch made of the difference of two objects turns one into the other', () => {
  fc.assert(
    fc.property(object, object, (from, to) => {
      expect(applyMergePatch(from, diff(from, to))).toEqual(to)
    }),
  )
})
