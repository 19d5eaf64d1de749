import { expect, test } from 'vitest'
import { FakeClock } from '../../../core/testing/fake-clock.ts'
import { RecordingLogger } from '../../../core/testing/recording-logger.ts'
import { Beat, beatMs } from './beat.ts'

test('it beats while somebody listens, and again when somebody comes back', async () => {
  const clock = new FakeClock()
  const beat = new Beat({ clock, log: new RecordingLogger() })
  let beats = 0
  const ends = [beat.subscribe(() => void beats++), beat.subscribe(() => {})]
  await clock.advance(3 * beatMs)
  expect(beats).toBe(3)
  for (const end of ends) end()
  await clock.advance(3 * beatMs)
  expect([beats, clock.sleeping]).toEqual([3, 0])
  beat.subscribe(() => void beats++)
  await clock.advance(beatMs)
  expect(beats).toBe(4)
})

test('one that fails is told in the log, and keeps nobody else from hearing', async () => {
  const clock = new FakeClock()
  const log = new RecordingLogger()
  const beat = new Beat({ clock, log })
  let beats = 0
  beat.subscribe(() => {
    throw new Error('broken')
  })
  beat.subscribe(() => void beats++)
  await clock.advance(2 * beatMs)
  expect(beats).toBe(2)
  expect(log.at('error')).toHaveLength(2)
})
