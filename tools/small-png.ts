/** Writes a PNG with at most 256 colours: half the size of what a browser writes, and hardly to be told from it. */
import { crc32, deflateSync } from 'node:zlib'

export interface Pixels {
  readonly width: number
  readonly height: number
  /** Four bytes for each: red, green, blue, and one that is ignored. */
  readonly rgba: Uint8Array
}

export function smallPng({ width, height, rgba }: Pixels): Buffer {
  const palette = paletteOf(rgba)
  const nearest = new Map<number, number>()
  const rows = Buffer.alloc(height * (width + 1))
  for (let y = 0, from = 0; y < height; y++) {
    // Each row begins with a filter: 0, none.
    for (let x = 0; x < width; x++, from += 4) {
      const colour = colourAt(rgba, from)
      let index = nearest.get(colour)
      if (index === undefined) nearest.set(colour, (index = nearestIn(palette, colour)))
      rows[y * (width + 1) + 1 + x] = index
    }
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 3, 0, 0, 0], 8) // 8 bits, palette
  const colours = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]))
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', header),
    chunk('PLTE', colours),
    chunk('IDAT', deflateSync(rows, { level: 9, memLevel: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

/** Those that are there most often. The others lie between two of them, on the edges of letters. */
function paletteOf(rgba: Uint8Array): readonly number[] {
  const counts = new Map<number, number>()
  for (let at = 0; at < rgba.length; at += 4) {
    const colour = colourAt(rgba, at)
    counts.set(colour, (counts.get(colour) ?? 0) + 1)
  }
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .slice(0, 256)
    .map(([colour]) => colour)
}

function colourAt(rgba: Uint8Array, at: number): number {
  return ((rgba[at] ?? 0) << 16) | ((rgba[at + 1] ?? 0) << 8) | (rgba[at + 2] ?? 0)
}

function nearestIn(palette: readonly number[], colour: number): number {
  let best = 0
  let bestDistance = Infinity
  for (const [index, other] of palette.entries()) {
    const distance =
      ((colour >> 16) - (other >> 16)) ** 2 +
      (((colour >> 8) & 255) - ((other >> 8) & 255)) ** 2 +
      ((colour & 255) - (other & 255)) ** 2
    if (distance < bestDistance) [best, bestDistance] = [index, distance]
  }
  return best
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type), data])
  const framed = Buffer.alloc(8)
  framed.writeUInt32BE(data.length, 0)
  framed.writeUInt32BE(crc32(named) >>> 0, 4)
  return Buffer.concat([framed.subarray(0, 4), named, framed.subarray(4)])
}
