import { expect, test } from 'vitest'
import type { ObjectKey } from '../../api/records.ts'
import { SharedIndex } from './shared-index.ts'

const [a, b, c, stranger] = ['demo/a', 'demo/b', 'demo/c', 'demo/stranger'] as ObjectKey[] as [
  ObjectKey,
  ObjectKey,
  ObjectKey,
  ObjectKey,
]

/** Who has the key, seen by somebody who does not. */
const owners = (index: SharedIndex) => index.othersThan(stranger, 'key').toSorted()

test('a key belongs to everybody who added it, once', () => {
  const index = new SharedIndex()
  expect(owners(index)).toEqual([])
  index.add('key', a)
  index.add('key', a)
  expect(owners(index)).toEqual([a])
  index.add('key', b)
  index.add('key', c)
  index.add('key', b)
  expect(owners(index)).toEqual([a, b, c])
  expect(index.othersThan(stranger, 'another key')).toEqual([])
})

test('those that share a key with a Service do not include itself', () => {
  const index = new SharedIndex()
  index.add('key', a)
  expect(index.othersThan(a, 'key')).toEqual([])
  index.add('key', b)
  expect(index.othersThan(a, 'key')).toEqual([b])
  const known = new Set<ObjectKey>([c])
  index.addOthersThan(b, 'key', known)
  expect([...known]).toEqual([c, a])
})

test('a key is gone for whoever gave it up, and for nobody else', () => {
  const index = new SharedIndex()
  for (const service of [a, b, c]) index.add('key', service)
  index.delete('key', stranger)
  expect(owners(index)).toEqual([a, b, c])
  index.delete('key', a)
  expect(owners(index)).toEqual([b, c])
  index.delete('key', b)
  index.delete('key', stranger)
  expect(owners(index)).toEqual([c])
  index.add('key', a)
  expect(owners(index)).toEqual([a, c])
  index.delete('key', a)
  index.delete('key', c)
  expect(owners(index)).toEqual([])
})
