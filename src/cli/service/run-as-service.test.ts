import { expect, test } from 'vitest'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { RecordingLogger } from '../../core/testing/recording-logger.ts'
import { MemoryServiceManager } from '../../dataplane/windows-service/memory-service-manager.ts'
import { runAsService } from './run-as-service.ts'
import type { ServiceWork } from './run-as-service.ts'

const log = () => new RecordingLogger()
const clock = () => new FakeClock()

/** Says that it runs, and ends when it is asked to. */
const untilAborted: ServiceWork['run'] = (onRunning, signal) => {
  onRunning()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(0)))
}

for (const why of ['stop', 'shutdown', 'preshutdown'] as const)
  test(`a service starts, runs, and ends in order at ${why}`, async () => {
    const manager = new MemoryServiceManager()
    const ended = runAsService({ manager, clock: clock(), prepare: () => ({ log: log(), run: untilAborted }) })
    await expect.poll(() => manager.state).toBe('running')
    manager.control(why)
    expect(await ended).toBe(0)
    expect(manager.reports.map(({ state }) => state)).toEqual([
      'start-pending',
      'start-pending',
      'running',
      'stop-pending',
      'stopped',
    ])
    expect(manager.reports.at(-1)).toEqual({ state: 'stopped', exitCode: 0 })
  })

test('the manager is contacted before anything else is done', async () => {
  const steps: string[] = []
  const manager = new MemoryServiceManager()
  const connect = manager.connect.bind(manager)
  manager.connect = (onStop) => {
    steps.push('manager contacted')
    return connect(onStop)
  }
  const prepare = () => {
    steps.push('log opened')
    const run = () => {
      steps.push('command run')
      return Promise.resolve(0)
    }
    return { log: log(), run }
  }
  await runAsService({ manager, clock: clock(), prepare })
  expect(steps).toEqual(['manager contacted', 'log opened', 'command run'])
})

test('a start that fails is reported with the exit code of the command, and never as running', async () => {
  const manager = new MemoryServiceManager()
  const run = () => Promise.resolve(1)
  expect(await runAsService({ manager, clock: clock(), prepare: () => ({ log: log(), run }) })).toBe(1)
  expect(manager.reports.map(({ state }) => state)).toEqual(['start-pending', 'start-pending', 'stopped'])
  expect(manager.reports.at(-1)).toEqual({ state: 'stopped', exitCode: 1 })
})

test('a command that throws is a failure with its reason in the log', async () => {
  const [manager, lines] = [new MemoryServiceManager(), log()]
  const run = () => Promise.reject(new Error('a bug'))
  expect(await runAsService({ manager, clock: clock(), prepare: () => ({ log: lines, run }) })).toBe(1)
  expect(manager.reports.at(-1)).toEqual({ state: 'stopped', exitCode: 1 })
  expect(lines.at('error')).toMatchObject([{ fields: { error: { message: 'a bug' } } }])
})

test('a log that cannot be opened has an exit code of its own, because no file can tell', async () => {
  const manager = new MemoryServiceManager()
  const prepare = () => {
    throw new Error('cannot write the log')
  }
  await expect(runAsService({ manager, clock: clock(), prepare })).rejects.toThrow('cannot write the log')
  expect(manager.reports.at(-1)).toEqual({ state: 'stopped', exitCode: 2 })
})

test('started by hand, nothing is prepared or run', async () => {
  const manager = new MemoryServiceManager({ hasStartedIt: false })
  const prepare = () => expect.fail('must not be called')
  await expect(runAsService({ manager, clock: clock(), prepare })).rejects.toMatchObject({ reason: 'not-a-service' })
})

test('an end that takes its time is reported with growing checkpoints', async () => {
  const [manager, time] = [new MemoryServiceManager(), clock()]
  let end = () => {}
  const run: ServiceWork['run'] = (onRunning) => {
    onRunning()
    return new Promise((resolve) => (end = () => resolve(0)))
  }
  const ended = runAsService({ manager, clock: time, prepare: () => ({ log: log(), run }) })
  await expect.poll(() => manager.state).toBe('running')
  manager.control('stop')
  for (let second = 0; second < 3; second++) await time.advance(1000)
  end()
  expect(await ended).toBe(0)
  expect(manager.reports.flatMap((report) => ('checkpoint' in report ? [report.checkpoint] : []))).toEqual([
    0, 1, 1, 2, 3, 4,
  ])
})

test('a start that takes its time is reported with growing checkpoints, until it runs', async () => {
  const [manager, time] = [new MemoryServiceManager(), clock()]
  let start = () => {}
  const run: ServiceWork['run'] = (onRunning, signal) => {
    start = onRunning
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve(0)))
  }
  const ended = runAsService({ manager, clock: time, prepare: () => ({ log: log(), run }) })
  await expect.poll(() => time.sleeping).toBe(1)
  for (let second = 0; second < 2; second++) await time.advance(1000)
  start()
  await time.advance(5000)
  const checkpoints = manager.reports.map((report) => ('checkpoint' in report ? report.checkpoint : report.state))
  expect(checkpoints).toEqual([0, 1, 2, 3, 'running'])
  manager.control('stop')
  expect(await ended).toBe(0)
})

test('an end that never comes is cut short after half a minute', async () => {
  const [manager, time, lines] = [new MemoryServiceManager(), clock(), log()]
  const run: ServiceWork['run'] = (onRunning) => {
    onRunning()
    return new Promise(() => {})
  }
  const ended = runAsService({ manager, clock: time, prepare: () => ({ log: lines, run }) })
  await expect.poll(() => manager.state).toBe('running')
  manager.control('stop')
  for (let second = 0; second < 29; second++) await time.advance(1000)
  expect(manager.state).toBe('stop-pending')
  await time.advance(1000)
  expect(await ended).toBe(1)
  expect(lines.at('error')).toMatchObject([{ message: 'the orderly end takes too long; ending at once' }])
})

test('a service that is asked to stop before it runs does not say that it runs afterwards', async () => {
  const manager = new MemoryServiceManager()
  const run: ServiceWork['run'] = async (onRunning, signal) => {
    onRunning()
    manager.control('stop')
    onRunning()
    return signal.aborted ? 0 : 1
  }
  expect(await runAsService({ manager, clock: clock(), prepare: () => ({ log: log(), run }) })).toBe(0)
  expect(manager.reports.map(({ state }) => state).slice(2)).toEqual(['running', 'stop-pending', 'stopped'])
})
