import { expect, test } from 'vitest'
import { lookNowAndThen } from './look-now-and-then.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { RecordingLogger } from '../testing/recording-logger.ts'

/** `findings` says what is found at which second. */
async function given(
  findings: (seconds: number) => string | undefined,
  pauseAfter?: (finding: string) => number | undefined,
) {
  const clock = new FakeClock()
  const log = new RecordingLogger()
  const found: number[] = []
  const stop = new AbortController()
  const start = clock.monotonic()
  const seconds = () => (clock.monotonic() - start) / 1000
  const running = lookNowAndThen(
    {
      look: async () => findings(seconds()),
      onFound: () => found.push(seconds()),
      trouble: 'cannot look',
      clock,
      log,
      ...(pauseAfter && { pauseAfter }),
    },
    stop.signal,
  )
  await clock.advance(0)
  return {
    found,
    log,
    async after(total: number) {
      await clock.advance(total * 1000)
      stop.abort()
      await clock.advance(0)
      await running
    },
  }
}

test('several damages in a row are all noticed at the next look', async () => {
  const damages = new Set([1, 2, 3, 5])
  const site = await given((now) => (damages.has(now) ? 'damage' : undefined))
  await site.after(12)
  expect(site.found).toEqual([1, 2, 3, 5])
})

test('endless damage is answered slower and slower, up to a minute', async () => {
  const site = await given(() => 'damage')
  await site.after(300)
  expect(site.found).toEqual([0, 1, 2, 3, 4, 6, 10, 18, 34, 66, 126, 186, 246])
})

test('a short pause of the other side changes nothing, a minute of quiet does', async () => {
  const site = await given((now) => (now < 20 || (now >= 40 && now < 60) || now >= 160 ? 'damage' : undefined))
  await site.after(170)
  expect(site.found).toEqual([0, 1, 2, 3, 4, 6, 10, 18, 40, 160, 161, 162, 163, 164, 166, 170])
})

test('peace takes a minute to the second, counted from the last damage', async () => {
  const again = async (at: number) => {
    const site = await given((now) => (now <= 6 || now >= at ? 'damage' : undefined))
    await site.after(75)
    return site.found
  }
  expect(await again(60)).toEqual([0, 1, 2, 3, 4, 6, 60, 68])
  expect(await again(67)).toEqual([0, 1, 2, 3, 4, 6, 67, 68, 69, 70, 71, 73])
})

test('a finding that is nobody’s doing has a pause of its own, and leaves patience with others as it was', async () => {
  const site = await given(
    (now) => (now < 60 ? 'we failed' : now < 65 ? 'damage' : undefined),
    (finding) => (finding === 'we failed' ? 20_000 : undefined),
  )
  await site.after(70)
  expect(site.found).toEqual([0, 20, 40, 60, 61, 62, 63, 64])
})

test('a look that fails is told, and tried again', async () => {
  const site = await given((now) => {
    if (now < 2) throw new Error('no socket')
    return 'damage'
  })
  await site.after(2)
  expect(site.found).toEqual([2])
  const line = { message: 'cannot look', fields: { error: new Error('no socket') } }
  expect(site.log.at('warn')).toMatchObject([line, line])
})

test('a look that fails because it is over is not told', async () => {
  const stop = new AbortController()
  const log = new RecordingLogger()
  const look = async () => {
    stop.abort()
    throw new Error('aborted')
  }
  const options = { look, onFound() {}, trouble: 'cannot look', clock: new FakeClock(), log }
  await lookNowAndThen(options, stop.signal)
  expect(log.lines).toEqual([])
})

test('what was found is handed over, and a look in vain is followed by the next after a second', async () => {
  const stop = new AbortController()
  const clock = new FakeClock()
  const found: string[] = []
  const left = [undefined, 'a chain is gone', undefined, 'a rule is gone']
  const look = async () => left.shift()
  const options = { look, onFound: (it: string) => found.push(it), trouble: '', clock, log: new RecordingLogger() }
  const running = lookNowAndThen(options, stop.signal)
  await clock.advance(2_999)
  expect(found).toEqual(['a chain is gone'])
  await clock.advance(1)
  expect(found).toEqual(['a chain is gone', 'a rule is gone'])
  stop.abort()
  await running
})
