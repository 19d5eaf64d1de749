import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { systemClock } from '../../../core/clock.ts'
import { silentLogger, type Logger } from '../../../core/logger.ts'
import { RecordingLogger } from '../../../core/testing/recording-logger.ts'
import { NodeRelay } from '../node/node-relay.ts'
import { relayContract } from '../contract/relay.contract.ts'
import type { RelaySettings } from '../relay.ts'
import { ask, eventually, open } from '../testing/clients.ts'
import { echoEndpoint } from '../testing/endpoints.ts'
import { relayTo, use } from '../testing/relay-under-test.ts'
import { NativeRelay } from './native-relay.ts'
import { SplitRelay } from './split-relay.ts'
import { buildEngine, type BuiltEngine } from './testing/build-engine.ts'

let engine: BuiltEngine

beforeAll(async () => {
  engine = await buildEngine('address,undefined')
}, 60_000)
afterAll(() => engine[Symbol.asyncDispose]())

const start = (settings: Partial<RelaySettings> = {}, log: Logger = silentLogger, told = {}) =>
  NativeRelay.start({ log, clock: systemClock, workers: 2, program: engine.program, settings, ...told })

/**
 * What the sanitizer finds at the end of a process, such as leaks, is only seen after the next test, or after the last.
 */
const log = new RecordingLogger()
const expectNoTrouble = () => {
  const lines = [...log.at('error'), ...log.at('warn')].filter(({ message }) => message.includes('native relay'))
  log.lines.length = 0
  expect(lines).toEqual([])
}
afterEach(expectNoTrouble)
afterAll(expectNoTrouble)

relayContract('the native relay', async (settings, told) => {
  const udp = new NodeRelay({ log: silentLogger, clock: systemClock, settings, ...told })
  return new SplitRelay({ tcp: await start(settings, log, told), udp })
})

test('an engine that is killed comes back with its listeners, and its counts go on', async () => {
  const deaths = new RecordingLogger()
  let native: NativeRelay | undefined
  const make = async () => (native = await start({}, deaths))
  const { relay, address, stats } = await relayTo(make, [use(await echoEndpoint())])
  const client = open(address)
  client.write('hello')
  await once(client, 'data')
  expect(relay.stats().descriptors.used).toBe(3)

  process.kill(native?.pid ?? 0, 'SIGKILL')
  await once(client, 'end')
  client.destroy()
  await eventually(() => deaths.at('error').length === 1)
  expect(deaths.at('error')[0]?.fields).toMatchObject({ listeners: 1 })
  await eventually(() => relay.stats().descriptors.used === 1)
  expect(await ask(address, 'again')).toBe('again')
  const carried = { connections: 2, bytesIn: 'hello'.length + 'again'.length }
  expect(stats()).toMatchObject(carried)
  await expect.poll(() => [...relay.endpointCounts('web').values()]).toMatchObject([{ ...carried, active: 0 }])
})

test('says what is wrong when there is no executable', async () => {
  const missing = NativeRelay.start({ log: silentLogger, clock: systemClock, workers: 1, program: '/no/such/relay' })
  await expect(missing).rejects.toMatchObject({ code: 'ENOENT' })
})
