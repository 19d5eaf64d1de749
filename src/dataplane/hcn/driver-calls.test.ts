import { expect, test } from 'vitest'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { DriverCalls } from './driver-calls.ts'

const { signal } = new AbortController()

/** A call that returns when it is told to. */
function slowCall() {
  let end: (result: string) => void = () => {}
  let fail: (error: Error) => void = () => {}
  const result = new Promise<string>((resolve, reject) => {
    end = resolve
    fail = reject
  })
  return { call: () => result, end, fail }
}

test('calls are made one after the other, in the order in which they were asked for', async () => {
  const clock = new FakeClock()
  const calls = new DriverCalls(clock, 1000)
  const log: string[] = []
  const work = (name: string) =>
    calls.run(signal, async (call) => {
      for (const part of ['first', 'second'])
        await call('do it', async () => {
          log.push(`${name} ${part} begins`)
          await clock.sleep(1, signal)
          log.push(`${name} ${part} ends`)
        })
    })
  const all = Promise.all([work('a'), work('b')])
  await clock.advance(10)
  await all
  expect(log).toEqual(['a first', 'a second', 'b first', 'b second'].flatMap((it) => [`${it} begins`, `${it} ends`]))
  expect(clock.sleeping).toBe(0)
})

test('after a call that does not end, the others fail at once, until it has ended', async () => {
  const clock = new FakeClock()
  const calls = new DriverCalls(clock, 30_000)
  const slow = slowCall()
  const stuck = calls.run(signal, (call) => call('delete endpoint x', slow.call))
  const waiting = calls.run(signal, (call) => call('list endpoints', async () => 'listed'))
  const failures = Promise.allSettled([stuck, waiting])
  await clock.advance(30_000)
  expect(await failures).toMatchObject([
    {
      reason: {
        reason: 'timed-out',
        message: 'cannot delete endpoint x: HNS has not answered for 30 s',
      },
    },
    {
      reason: {
        reason: 'timed-out',
        message:
          'cannot list endpoints: HNS was asked to delete endpoint x 30 s ago and has not answered; if that lasts, restart it: Restart-Service hns',
      },
    },
  ])
  await clock.advance(60_000)
  await expect(calls.run(signal, (call) => call('list networks', async () => 'listed'))).rejects.toThrow('90 s ago')
  slow.end('late')
  await clock.advance(0)
  expect(await calls.run(signal, (call) => call('list networks', async () => 'listed'))).toBe('listed')
  expect(clock.sleeping).toBe(0)
})

test('a late failure is nobody’s', async () => {
  const clock = new FakeClock()
  const calls = new DriverCalls(clock, 1000)
  const slow = slowCall()
  const stuck = Promise.allSettled([calls.run(signal, (call) => call('do it', slow.call))])
  await clock.advance(1000)
  expect(await stuck).toMatchObject([{ reason: { reason: 'timed-out' } }])
  slow.fail(new Error('too late'))
  await clock.advance(0)
  expect(await calls.run(signal, (call) => call('do it', async () => 'done'))).toBe('done')
})

test('an aborted signal counts before a call is handed over, and not after', async () => {
  const clock = new FakeClock()
  const calls = new DriverCalls(clock, 1000)
  const stop = new AbortController()
  const slow = slowCall()
  let made = 0
  const begun = calls.run(stop.signal, (call) => call('do it', slow.call))
  const waiting = calls.run(stop.signal, (call) => call('do more', async () => made++))
  const failed = Promise.allSettled([waiting])
  await clock.advance(0)
  stop.abort(new Error('stopping'))
  slow.end('done')
  expect(await begun).toBe('done')
  expect(await failed).toMatchObject([{ reason: { message: 'stopping' } }])
  expect(made).toBe(0)
})
