import { inflateSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { smallPng } from './small-png.ts'

const red = [255, 0, 0, 255]
const blue = [0, 0, 255, 255]

test('a picture of few colours is kept as it is', () => {
  const png = smallPng({ width: 3, height: 2, rgba: Uint8Array.from([red, red, blue, red, blue, red].flat()) })
  expect(chunks(png).map(({ type }) => type)).toEqual(['IHDR', 'PLTE', 'IDAT', 'IEND'])
  const [header, palette, data] = chunks(png).map((chunk) => chunk.data)
  expect([header?.readUInt32BE(0), header?.readUInt32BE(4)]).toEqual([3, 2])
  expect([...(palette ?? [])]).toEqual([255, 0, 0, 0, 0, 255])
  expect([...inflateSync(data ?? '')]).toEqual([0, 0, 0, 1, 0, 0, 1, 0])
})

test('of more than 256 colours the rare ones become the nearest of the others', () => {
  const greys = Array.from({ length: 256 }, (_, grey) => [grey, grey, grey, 255])
  const rgba = Uint8Array.from([...greys, ...greys, [100, 101, 100, 255], [0, 0, 0, 255]].flat())
  const [, palette, data] = chunks(smallPng({ width: 514, height: 1, rgba })).map((chunk) => chunk.data)
  expect(palette?.length).toBe(768)
  const pixels = inflateSync(data ?? '')
  expect(palette?.[(pixels[513] ?? 0) * 3]).toBe(100)
})

function chunks(png: Buffer): readonly { readonly type: string; readonly data: Buffer }[] {
  const found = []
  for (let at = 8; at < png.length;) {
    const end = at + 8 + png.readUInt32BE(at)
    found.push({ type: png.toString('latin1', at + 4, at + 8), data: png.subarray(at + 8, end) })
    at = end + 4
  }
  return found
}
