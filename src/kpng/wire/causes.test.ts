import { expect, test } from 'vitest'
import { OpItem } from '../proto/generated/localv1/api.ts'
import { readCauses, syncFrameWith } from './causes.ts'
import { frameHeaderLength, syncFrame } from './op-frames.ts'

const context = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' }
const messageIn = (frame: Buffer) => frame.subarray(frameHeaderLength)

test('causes come back as they were written', () => {
  const causes = [
    { service: 'default/web', context },
    { service: 'default/dns', context: { ...context, spanId: '00f067aa0ba902b7' } },
  ]
  const frame = syncFrameWith(causes)
  expect(frame.readUInt32BE(1)).toBe(frame.length - frameHeaderLength)
  expect(readCauses(messageIn(frame))).toEqual(causes)
})

test('for who does not know them it is the Sync that it always was', () => {
  expect(OpItem.decode(messageIn(syncFrameWith([{ service: 'default/web', context }])))).toEqual(
    OpItem.decode(messageIn(syncFrame)),
  )
  expect(syncFrameWith([])).toBe(syncFrame)
  expect(readCauses(messageIn(syncFrame))).toEqual([])
})

test.each(['', 'nonsense', `00-${'0'.repeat(32)}-b7ad6b7169203331-01`])(
  'a cause with the context %j is left out',
  (bad) => {
    const good = syncFrameWith([{ service: 'default/web', context }])
    const text = `00-${context.traceId}-${context.spanId}-01`
    const broken = Buffer.from(good.toString('latin1').replace(text, bad.padEnd(text.length, '-')), 'latin1')
    expect(readCauses(messageIn(broken))).toEqual([])
  },
)
