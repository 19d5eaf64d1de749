import { expect, test } from 'vitest'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { RecordingLogger } from '../../core/testing/recording-logger.ts'
import { DescriptorBudget, openFilesLimit } from './descriptor-budget.ts'

test('a flood of refusals is one log line, and ten seconds later one more that counts the others', async () => {
  const log = new RecordingLogger()
  const clock = new FakeClock()
  const descriptors = new DescriptorBudget({ limit: 64 + 10, log, clock })
  while (descriptors.tryTake(1, 'shop/web')) expect(descriptors.used).toBeLessThanOrEqual(9)
  for (let i = 0; i < 500; i++) expect(descriptors.tryTake(1, 'shop/web')).toBe(false)
  expect(log.at('warn')).toHaveLength(1)
  expect(log.at('warn')[0]?.fields).toMatchObject({ service: 'shop/web', used: 9, openFilesLimit: 74 })

  await clock.advance(10_000)
  descriptors.tryTake(1, 'shop/web')
  expect(log.at('warn')).toHaveLength(2)
  expect(log.at('warn')[1]?.fields).toMatchObject({ alsoTurnedAway: 500 })
})

test('the limit of open files is that of this process', () => {
  expect(openFilesLimit()).toBeGreaterThan(64)
})

test('Windows has no such limit, and gets one all the same', () => {
  expect(openFilesLimit('win32')).toBe(64_000)
})
