import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { functionId, storageTypes } from './btf.ts'

test('the value of a socket storage is described as bytes', () => {
  expect(storageTypes(64).toString('hex')).toBe(
    '9feb0100' + // magic, version, flags
      '18000000' + // length of the header
      '00000000' + // types at
      '38000000' + // length of the types
      '38000000' + // strings at
      '08000000' + // length of the strings
      '01000000' +
      '00000001' +
      '04000000' +
      '20000001' + // int, 32 bits, signed
      '05000000' +
      '00000001' +
      '01000000' +
      '08000000' + // u8
      '00000000' +
      '00000003' +
      '00000000' +
      '02000000' +
      '01000000' +
      '40000000' + // u8[64]
      '00696e7400753800', // names
  )
})

/** Types of these kinds, and a function at the end. */
function description(...types: readonly (readonly number[])[]): Buffer {
  const strings = Buffer.from('\0wanted\0other\0')
  const body = Buffer.from(Uint32Array.from(types.flat()).buffer)
  const header = Buffer.alloc(24)
  header.writeUInt16LE(0xeb9f, 0)
  for (const [index, number] of [24, 0, body.length, body.length, strings.length].entries())
    header.writeUInt32LE(number, 4 + 4 * index)
  return Buffer.concat([header, body, strings])
}

const [wanted, other] = [1, 8]
const func = (name: number) => [name, 12 << 24, 0]

test('a function has the number of its place among the types, whatever is before it', () => {
  const int = [0, 1 << 24, 4, 32]
  const structOf2 = [wanted, (4 << 24) | 2, 8, ...Array.from({ length: 6 }, () => 0)]
  const parametersOf3 = [0, (13 << 24) | 3, 0, ...Array.from({ length: 6 }, () => 0)]
  const enum64Of1 = [0, (19 << 24) | 1, 8, 0, 0, 0]
  const tag = [0, 17 << 24, 1, 0]
  const types = [int, structOf2, parametersOf3, func(other), enum64Of1, tag, func(wanted)]
  expect(functionId(description(...types), 'wanted')).toBe(7)
  expect(functionId(description(...types), 'other')).toBe(4)
  expect(functionId(description(...types), 'want')).toBeUndefined()
  expect(functionId(description(structOf2), 'wanted')).toBeUndefined()
})

const kernelTypes = '/sys/kernel/btf/vmlinux'
test.skipIf(!existsSync(kernelTypes))(
  `the function is found in ${kernelTypes} (skipped where the kernel has none)`,
  () => {
    expect(functionId(readFileSync(kernelTypes), 'vfs_read')).toBeGreaterThan(0)
  },
)
