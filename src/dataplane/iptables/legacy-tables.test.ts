import { openSync } from 'node:fs'
import { expect, test } from 'vitest'
import { LegacyTables } from './legacy-tables.ts'

/** A kernel whose tables all have the same size. It answers as long as the size asked for is that. */
function kernelWith(size: number) {
  return {
    // A real file descriptor, because it is closed at the end.
    socket: () => openSync('/dev/null', 'r'),
    getSocketOption: (_fd: number, _level: number, _option: number, value: Buffer) => {
      value.writeUInt32LE(size, 80)
      return 0
    },
    getSocketOptionAsync: async (_fd: number, _level: number, _option: number, value: Buffer) => {
      value.fill(7, 40)
      return value.readUInt32LE(32) === size
    },
  }
}

test('the memory of a table is given back as soon as it was read', async () => {
  using tables = new LegacyTables(kernelWith(1000), 'ipv4')
  const info = tables.info('nat') ?? Buffer.alloc(0)
  const held: Buffer[] = []
  const sum = await tables.read('nat', info, ({ bytes }) => {
    held.push(bytes)
    return bytes.reduce((total, byte) => total + byte, 0)
  })
  expect(sum).toBe(7000)
  expect(held.map(({ length }) => length)).toEqual([0])
})

test('it is given back also when reading fails', async () => {
  using tables = new LegacyTables(kernelWith(1000), 'ipv4')
  const info = tables.info('nat') ?? Buffer.alloc(0)
  const held: Buffer[] = []
  const reading = tables.read('nat', info, ({ bytes }) => {
    held.push(bytes)
    throw new Error('this is no table')
  })
  await expect(reading).rejects.toThrow('this is no table')
  expect(held.map(({ length }) => length)).toEqual([0])
})

test('a table that has another size by now is not read', async () => {
  using before = new LegacyTables(kernelWith(1000), 'ipv4')
  using now = new LegacyTables(kernelWith(1200), 'ipv4')
  expect(await now.read('nat', before.info('nat') ?? Buffer.alloc(0), () => 'read')).toBeUndefined()
})
