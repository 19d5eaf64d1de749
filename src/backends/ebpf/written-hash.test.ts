import fc from 'fast-check'
import { expect, test } from 'vitest'
import { WrittenHash } from './written-hash.ts'

const sizes = { keySize: 4, valueSize: 2 }
type Table = ReadonlyMap<number, number>

const tables = fc.array(fc.tuple(fc.nat(20), fc.nat(3))).map((entries): Table => new Map(entries))

/** As the kernel lists them: in no particular order. */
function packed(table: Table, order: (a: number, b: number) => number = (a, b) => a - b) {
  const keys = [...table.keys()].sort(order)
  return {
    keys: Buffer.concat(keys.map(bytes(4))),
    values: Buffer.concat(keys.map((key) => bytes(2)(table.get(key) ?? 0))),
  }
}

function bytes(size: number): (number: number) => Buffer {
  return (number) => {
    const buffer = Buffer.alloc(size)
    buffer.writeUIntLE(number, 0, size)
    return buffer
  }
}

test('what was written, however it came to be, is no different; everything else is, and it is named', () => {
  fc.assert(
    fc.property(tables, tables, fc.array(fc.nat(20)), tables, (first, then, gone, damaged) => {
      const written = new WrittenHash(sizes, packed(first))
      written.update(packed(then, (a, b) => b - a))
      written.delete(gone.map(bytes(4)))
      const now = new Map([...first, ...then].filter(([key]) => !gone.includes(key)))
      expect(written.difference(packed(now, (a, b) => b - a))).toBeUndefined()

      const told = written.difference(packed(damaged))
      const truths = differences(now, damaged)
      expect(told === undefined).toBe(truths.length === 0)
      expect(truths).toEqual(expect.arrayContaining(told ? [`${told.key.readUInt32LE(0)} ${told.was}`] : []))
    }),
  )
})

test('part by part the same is found, unless something is written meanwhile', () => {
  fc.assert(
    fc.property(tables, tables, fc.boolean(), (wanted, found, isWritten) => {
      const written = new WrittenHash(sizes, packed(wanted))
      const look = written.look()
      for (const [key, value] of found) look.add(packed(new Map([[key, value]])))
      if (isWritten) written.update(packed(new Map()))
      expect(look.isSame()).toBe(!isWritten && differences(wanted, found).length === 0)
    }),
  )
})

/** What a reader of both tables would say. */
function differences(wanted: Table, found: Table): readonly string[] {
  return [
    ...[...found.keys()].filter((key) => !wanted.has(key)).map((key) => `${key} was added`),
    ...[...wanted.keys()].filter((key) => !found.has(key)).map((key) => `${key} was deleted`),
    ...[...wanted]
      .filter(([key, value]) => found.has(key) && found.get(key) !== value)
      .map(([key]) => `${key} was changed`),
  ]
}

const table = (...values: readonly number[]): Table => new Map(values.map((value, key) => [key, value]))

test('two values that have changed places are noticed', () => {
  const written = new WrittenHash(sizes, packed(table(1, 2)))
  expect(written.difference(packed(table(2, 1)))).toMatchObject({ was: 'was changed' })
})

test('a key that comes twice has its last value', () => {
  const written = new WrittenHash(sizes, packed(table(1)))
  const [first, last] = [packed(table(2)), packed(table(3))]
  written.update({
    keys: Buffer.concat([first.keys, last.keys]),
    values: Buffer.concat([first.values, last.values]),
  })
  expect(written.difference(packed(table(3)))).toBeUndefined()
  expect(written.difference(packed(table(2)))).toMatchObject({ was: 'was changed' })
})
