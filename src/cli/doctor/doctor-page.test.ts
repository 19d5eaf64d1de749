import { expect, test } from 'vitest'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { doctorPage } from './doctor-page.ts'
import type { DoctorAnswer } from './doctor-page.ts'
import type { Examination } from './examine.ts'

const never = new AbortController().signal

test('the first question examines, others get what it found until they ask for more', async () => {
  const { ask, examined, clock } = setUp()
  expect(await ask('')).toMatchObject({ node: 'node-a', mode: 'nftables', isUnderWay: false, checks: ['tools'] })
  await clock.advance(60_000)
  await ask('')
  expect(examined()).toBe(1)
  await ask('again=1')
  expect(examined()).toBe(2)
})

test('there is a rest after each, also for those who ask for another', async () => {
  const { ask, examined, clock } = setUp()
  const { examinedAt } = await ask('again=1')
  expect(await ask('again=1')).toMatchObject({ examinedAt, restMs: 10_000 })
  expect(examined()).toBe(1)
  await clock.advance(10_000)
  expect((await ask('again=1')).examinedAt).not.toBe(examinedAt)
})

test('many who ask at once share one, and none of them ends it by going away', async () => {
  const { ask, examined, release, clock } = setUp({ isHeld: true })
  const gone = new AbortController()
  const [first, second] = [ask('again=1', gone.signal), ask('again=1')]
  gone.abort()
  expect(await first).toMatchObject({ isUnderWay: true })
  await clock.advance(2_000)
  release()
  expect(await second).toMatchObject({ isUnderWay: false, checks: ['tools'], tookMs: 2_000, restMs: 18_000 })
  expect(examined()).toBe(1)
})

test('who waits too long is told that it is under way', async () => {
  const { ask, clock, release } = setUp({ isHeld: true })
  const asked = ask('')
  await clock.advance(10_000)
  expect(await asked).toEqual({ node: 'node-a', mode: 'nftables', isUnderWay: true, restMs: 0 })
  release()
  expect(await ask('')).toMatchObject({ isUnderWay: false, checks: ['tools'] })
})

test('one that does not end is given up, and what was found before stays', async () => {
  const { ask, clock, hold } = setUp()
  const { examinedAt } = await ask('')
  await clock.advance(60_000)
  hold()
  const asked = ask('again=1')
  await clock.advance(90_000)
  await asked
  expect(await ask('')).toMatchObject({
    examinedAt,
    checks: ['tools'],
    isUnderWay: false,
    problem: 'the node could not be examined: it took longer than 90 s',
  })
})

function setUp({ isHeld = false } = {}) {
  const clock = new FakeClock()
  let held = isHeld
  let examined = 0
  let release = () => {}
  const examination: Examination = { checks: ['tools'], findings: [] }
  const page = doctorPage({
    node: 'node-a',
    mode: 'nftables',
    clock,
    signal: never,
    examine(signal) {
      examined++
      if (!held) return Promise.resolve(examination)
      return new Promise((resolve, reject) => {
        release = () => resolve(examination)
        signal.addEventListener('abort', () => reject(signal.reason as Error))
      })
    },
  })
  return {
    clock,
    examined: () => examined,
    release: () => release(),
    hold: () => (held = true),
    ask: async (query: string, signal: AbortSignal = never): Promise<DoctorAnswer> => {
      const answer = await page.answer({ rest: [], query: new URLSearchParams(query) }, signal)
      if (answer.kind !== 'json') throw new Error(`answered with ${answer.kind}`)
      return answer.value as DoctorAnswer
    },
  }
}
