import { expect, test } from 'vitest'
import { RequestFrames } from './request-frames.ts'

const frame = (text: string) => Buffer.concat([Buffer.from([0, 0, 0, 0, text.length]), Buffer.from(text)])

test('messages are found however the bytes are cut', () => {
  const bytes = Buffer.concat([frame('one'), frame(''), frame('three')])
  for (let size = 1; size <= bytes.length; size++) {
    const frames = new RequestFrames(100)
    const found: string[] = []
    for (let at = 0; at < bytes.length; at += size) {
      const messages = frames.push(bytes.subarray(at, at + size))
      if (typeof messages === 'string') throw new Error(messages)
      found.push(...messages.map(String))
    }
    expect(found).toEqual(['one', '', 'three'])
  }
})

test('a message that is too large is refused before it is there', () => {
  expect(new RequestFrames(3).push(frame('four').subarray(0, 5))).toBe('too-large')
})

test('a compressed message is refused', () => {
  expect(new RequestFrames(100).push(Buffer.from([1, 0, 0, 0, 0]))).toBe('compressed')
})
