/** The engine's threads under ThreadSanitizer: a data race ends the process. */
import { spawnSync } from 'node:child_process'
import { afterAll, afterEach, describe, expect } from 'vitest'
import { systemClock } from '../../../core/clock.ts'
import { silentLogger } from '../../../core/logger.ts'
import { RecordingLogger } from '../../../core/testing/recording-logger.ts'
import { NodeRelay } from '../node/node-relay.ts'
import { relayContract } from '../contract/relay.contract.ts'
import { NativeRelay } from './native-relay.ts'
import { SplitRelay } from './split-relay.ts'
import { buildEngine } from './testing/build-engine.ts'

const engine = await buildEngine('thread')
afterAll(() => engine[Symbol.asyncDispose]())

// Old sanitizers do not know how newer kernels lay out memory. Where the engine can start, it prints what it is for.
const isChecked = spawnSync(engine.program).stderr.toString().includes('started by Fairlead')
const log = new RecordingLogger()

/** An engine ends after its test, so what it reports at its end is only seen after the next test, or after the last. */
function expectNoTrouble() {
  const lines = [...log.at('error'), ...log.at('warn')].filter(({ message }) => message.includes('native relay'))
  log.lines.length = 0
  expect(lines).toEqual([])
}

describe.runIf(isChecked)(`threads${isChecked ? '' : ' (ThreadSanitizer does not run on this kernel)'}`, () => {
  afterEach(expectNoTrouble)
  afterAll(expectNoTrouble)

  relayContract('the native relay, without data races', async (settings, told) => {
    const udp = new NodeRelay({ log: silentLogger, clock: systemClock, settings, ...told })
    const { program } = engine
    return new SplitRelay({
      tcp: await NativeRelay.start({ log, clock: systemClock, workers: 3, program, settings, ...told }),
      udp,
    })
  })
})
