import fc from 'fast-check'
import { expect, test } from 'vitest'
import { VersionedMap } from './versioned-map.ts'

test('a changed copy has the changes, and the original has not', () => {
  const before = new VersionedMap(new Map([['a', 1], ['b', 2]])) // prettier-ignore
  const after = before.with(new Map([['a', 10], ['b', undefined], ['c', 3]])) // prettier-ignore
  expect(new Map(after.entries())).toEqual(new Map([['a', 10], ['c', 3]])) // prettier-ignore
  expect(new Map(before.entries())).toEqual(new Map([['a', 1], ['b', 2]])) // prettier-ignore
  expect([after.get('a'), before.get('a'), after.has('b'), before.has('b')]).toEqual([10, 1, false, true])
  expect([after.size, before.size]).toEqual([2, 2])
})

test('without a change it is the same version', () => {
  const map = new VersionedMap(new Map([['a', 1]]))
  expect(map.with(new Map())).toBe(map)
})

test('a list of one version stays as it is while another is read', () => {
  const before = new VersionedMap(new Map([['a', 1]]))
  const after = before.with(new Map([['b', 2]]))
  const keys: string[] = []
  for (const key of after.keys()) {
    keys.push(key)
    expect(before.has('b')).toBe(false)
  }
  expect(keys.sort()).toEqual(['a', 'b'])
  expect(new Set(after.values())).toEqual(new Set([1, 2]))
})

test('thousands of versions do not cost the stack', () => {
  const first = new VersionedMap<string, number>()
  let last = first
  for (let count = 0; count < 20_000; count++) last = last.with(new Map([['a', count]]))
  expect([first.get('a'), last.get('a'), first.size]).toEqual([undefined, 19_999, 0])
})

test('any tree of versions, read in any order, is what plain copies would be', () => {
  const key = fc.constantFrom('a', 'b', 'c', 'd')
  const changes = fc.array(fc.tuple(key, fc.option(fc.nat(9), { nil: undefined })), { maxLength: 4 })
  const steps = fc.array(fc.record({ from: fc.nat(), changes, read: fc.nat() }), { maxLength: 30 })
  fc.assert(
    fc.property(steps, (history) => {
      const versions = [{ map: new VersionedMap<string, number>(), plain: new Map<string, number>() }]
      for (const { from, changes, read } of history) {
        const origin = versions[from % versions.length]
        if (origin === undefined) continue
        const plain = new Map(origin.plain)
        for (const [key, value] of changes) if (value === undefined) plain.delete(key)
          else plain.set(key, value) // prettier-ignore
        versions.push({ map: origin.map.with(new Map(changes)), plain })
        const looked = versions[read % versions.length]
        expect(new Map(looked?.map.entries())).toEqual(looked?.plain)
      }
      for (const { map, plain } of versions) expect(new Map(map.entries())).toEqual(plain)
    }),
  )
})
