import { expect, test } from 'vitest'
import { readElf } from './elf.ts'
import { readSourceLines } from './source-lines.ts'
import { buildElf } from './testing/object-builder.ts'

const strings = Buffer.from('\0cgroup/connect4\0choose.h\0text of the line\0')
const [sectionName, fileName, text] = [1, 17, 26]

function types(): Buffer {
  const header = Buffer.alloc(24)
  header.writeUInt16LE(0xeb9f, 0)
  for (const [index, number] of [24, 0, 0, 0, strings.length].entries()) header.writeUInt32LE(number, 4 + 4 * index)
  return Buffer.concat([header, strings])
}

function lines(...records: readonly (readonly [byte: number, line: number])[]): Buffer {
  const column = 5
  const body = Uint32Array.from([
    16,
    sectionName,
    records.length,
    ...records.flatMap(([byte, line]) => [byte, fileName, text, (line << 10) | column]),
  ])
  const header = Buffer.alloc(24)
  header.writeUInt16LE(0xeb9f, 0)
  for (const [index, number] of [24, 0, 0, 0, body.byteLength].entries()) header.writeUInt32LE(number, 4 + 4 * index)
  return Buffer.concat([header, Buffer.from(body.buffer)])
}

const elfWith = (content: Buffer) =>
  readElf(
    buildElf(
      [
        { name: '.BTF', content: types() },
        { name: '.BTF.ext', content },
      ],
      [],
    ),
  )

test('each instruction has a line of the source', () => {
  expect(readSourceLines(elfWith(lines([0, 12], [24, 700])))).toEqual(
    new Map([
      [
        'cgroup/connect4',
        [
          { instruction: 0, file: 'choose.h', line: 12 },
          { instruction: 3, file: 'choose.h', line: 700 },
        ],
      ],
    ]),
  )
})

test('an object without them has no lines', () => {
  expect(readSourceLines(readElf(buildElf([], [])))).toEqual(new Map())
})

test('lines that are cut off are an error that names the section', () => {
  expect(() => readSourceLines(elfWith(lines([0, 12], [24, 700]).subarray(0, -4)))).toThrow(
    expect.objectContaining({
      reason: 'bad-object',
      message: expect.stringContaining('".BTF.ext" is cut off') as string,
    }),
  )
})
