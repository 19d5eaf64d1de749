import { expect, test } from 'vitest'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { RecordingLogger } from '../../core/testing/recording-logger.ts'
import { MemorySysctl } from './memory-sysctl.ts'
import { setOomScore } from './oom-score.ts'
import type { SysctlError } from './sysctl.ts'

function given(refuseWith?: SysctlError['reason']) {
  const self = new MemorySysctl({ oom_score_adj: '0' })
  self.refuseWith = refuseWith
  const clock = new FakeClock()
  const log = new RecordingLogger()
  const running = setOomScore({ score: -999, self, clock, log }, new AbortController().signal)
  return { self, clock, log, running }
}

test('the OOM score is written', async () => {
  const { self, running } = given()
  await running
  expect(self.writes).toEqual(['oom_score_adj=-999'])
})

test('a write that fails once is tried again after 100 ms', async () => {
  const { self, clock, log, running } = given('not-permitted')
  await clock.advance(99)
  self.refuseWith = undefined
  expect(self.writes).toEqual([])
  await clock.advance(1)
  await running
  expect(self.writes).toEqual(['oom_score_adj=-999'])
  expect(log.lines).toEqual([])
})

test('a second failure is logged, and the start goes on', async () => {
  const { clock, log, running } = given('not-permitted')
  await clock.advance(100)
  await running
  expect(log.at('warn')).toMatchObject([
    { message: expect.stringMatching(/^the OOM score could not be set/) as string, fields: { score: -999 } },
  ])
})
