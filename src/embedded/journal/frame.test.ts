import { expect, test } from 'vitest'
import { encodeFrame, scanFrames } from './frame.ts'

const payloads = ['["first"]', '["zweiter: äöü"]', '["third"]']
const file = Buffer.concat(payloads.map(encodeFrame))
const lastStart = file.length - encodeFrame(payloads[2] ?? '').length

test('frames come back as they were written', () => {
  expect(scanFrames(file)).toEqual({ payloads, goodBytes: file.length, broken: undefined })
})

test('a frame is one line that a person can read', () => {
  expect(encodeFrame('["first"]').toString()).toMatch(/^[0-9a-f]{8} 00000009 \["first"\]\n$/)
})

test('a file cut anywhere within its last frame keeps the frames before it', () => {
  for (let length = lastStart + 1; length < file.length; length++) {
    const { payloads: kept, goodBytes, broken } = scanFrames(file.subarray(0, length))
    expect(kept).toEqual(payloads.slice(0, 2))
    expect(goodBytes).toBe(lastStart)
    expect(broken?.isLast).toBe(true)
  }
})

test('any changed byte is noticed, and is damage when good frames follow', () => {
  for (let offset = 0; offset < file.length; offset++) {
    const damaged = Buffer.from(file)
    damaged[offset] = (damaged[offset] ?? 0) ^ 1
    const { broken, goodBytes } = scanFrames(damaged)
    expect(broken?.isLast, `byte ${offset}`).toBe(offset >= lastStart)
    expect(goodBytes).toBeLessThanOrEqual(offset)
  }
})

test('a tail of zeros, as a power cut leaves it, is a torn last frame', () => {
  const { payloads: kept, broken } = scanFrames(Buffer.concat([file, Buffer.alloc(4096)]))
  expect(kept).toEqual(payloads)
  expect(broken?.isLast).toBe(true)
})
