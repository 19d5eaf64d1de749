import { expect, test } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { RecordingLogger } from '../../core/testing/recording-logger.ts'
import { openRelay } from './open-relay.ts'

const options = { clock: systemClock, workers: 0, drainTimeoutMs: undefined, mayBeTransparent: false } as const

test('where there is no native engine, it is refused by name, and nobody looks for it', async () => {
  const log = new RecordingLogger()
  await expect(openRelay({ ...options, log, engine: 'native' }, 'win32')).rejects.toThrow(
    '--userspace-engine=native works on Linux only: use node, or auto, which chooses it here',
  )
  await using relay = await openRelay({ ...options, log, engine: 'auto' }, 'win32')
  expect(relay.stats().listeners).toEqual([])
  expect(log.at('info').map(({ message }) => message)).toEqual(['TCP connections are relayed by Node.js'])
})
