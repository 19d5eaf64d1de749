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

      const difference = written.difference(packed(damaged))
      const number = difference?.key.readUInt32LE(0) ?? -1
      const [wanted, found] = [now.get(number), damaged.get(number)]
      if (difference === undefined) expect(new Map([...damaged].sort())).toEqual(new Map([...now].sort()))
      else if (difference.was === 'was added') expect([wanted, found]).toEqual([undefined, expect.any(Number)])
      else if (difference.was === 'was deleted') expect([wanted, found]).toEqual([expect.any(Number), undefined])
      else expect(wanted !== undefined && found !== undefined && wanted !== found).toBe(true)
    }),
  )
})

test('two values that have changed places are noticed', () => {
  const written = new WrittenHash(
    sizes,
    packed(
      new Map([
        [1, 2],
        [2, 1],
      ]),
    ),
  )
  expect(
    written.difference(
      packed(
        new Map([
          [1, 1],
          [2, 2],
        ]),
      ),
    ),
  ).toMatchObject({ was: 'was changed' })
})
