import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { BroadcastChannel } from 'node:worker_threads'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { systemClock, type Clock } from '../../../core/clock.ts'
import { silentLogger } from '../../../core/logger.ts'
import { RecordingLogger } from '../../../core/testing/recording-logger.ts'
import { hostPort } from '../../../net/ip.ts'
import { relayContract } from '../contract/relay.contract.ts'
import { ask, eventually, open } from '../testing/clients.ts'
import { compileWorker, type CompiledWorker } from '../testing/compile-worker.ts'
import { echoEndpoint, namedEndpoint } from '../testing/endpoints.ts'
import { listenerSpec, relayTo, use } from '../testing/relay-under-test.ts'
import { ThreadedRelay } from './threaded-relay.ts'

let worker: CompiledWorker

beforeAll(async () => {
  worker = await compileWorker()
}, 60_000)
afterAll(() => worker[Symbol.asyncDispose]())

relayContract('the threaded relay', (settings, told) => {
  const { program } = worker
  return new ThreadedRelay({ log: silentLogger, clock: systemClock, threads: 2, program, settings, ...told })
})

test('a thread that dies comes back with its listeners, and its counts go on', async () => {
  const log = new RecordingLogger()
  const { program, fail } = failingWorker()
  const make = () => new ThreadedRelay({ log, clock: systemClock, threads: 2, program })
  const { relay, address, stats } = await relayTo(make, [use(await echoEndpoint())])
  const client = open(address)
  client.write('hello')
  await once(client, 'data')
  expect(relay.stats().descriptors.used).toBe(3)

  fail('die', 'all')
  await once(client, 'end')
  client.destroy()
  await eventually(() => log.at('error').length === 1)
  expect(log.at('error')[0]?.fields).toMatchObject({ listeners: 1 })
  await eventually(() => relay.stats().descriptors.used === 1)
  expect(await ask(address, 'again')).toBe('again')
  const carried = { connections: 2, bytesIn: 'hello'.length + 'again'.length }
  expect(stats()).toMatchObject(carried)
  await expect.poll(() => [...relay.endpointCounts('web').values()]).toMatchObject([{ ...carried, active: 0 }])
})

test('a listener that cannot be reopened leaves the totals as they were', async () => {
  const log = new RecordingLogger()
  const { program, fail } = failingWorker()
  let endPause = () => {}
  const pause = new Promise<void>((resolve) => (endPause = resolve))
  // A thread that dies at once is started again after a pause, which here is as long as the port takes to be taken.
  const clock: Clock = {
    ...systemClock,
    monotonic: () => 0,
    sleep: (ms, signal) => (ms === 1_000 ? pause : systemClock.sleep(ms, signal)),
  }
  const make = () => new ThreadedRelay({ log, clock, threads: 1, program, settings: { stuckAfterMs: 60_000 } })
  const { relay, address } = await relayTo(make, [use(await echoEndpoint())])
  expect(await ask(address, 'hello')).toBe('hello')
  await eventually(() => relay.totals().carried.TCP.active === 0)
  const before = relay.totals().carried.TCP
  expect(before).toMatchObject({ connections: 1, bytesIn: 'hello'.length })

  fail('die', 'all')
  await eventually(() => log.at('error').length === 1)
  const other = createServer().listen(address.port, address.ip)
  onTestFinished(() => void other.close())
  await once(other, 'listening')
  endPause()
  await eventually(() => log.at('warn').length === 1)
  expect(log.at('warn')[0]?.message).toBe('a listener could not be reopened')
  expect(relay.totals().carried.TCP).toEqual(before)
})

test('what others serve is not disturbed when a thread dies', async () => {
  const log = new RecordingLogger()
  const { program, fail } = failingWorker()
  const relay = use(new ThreadedRelay({ log, clock: systemClock, threads: 2, program }))
  const echo = use(await echoEndpoint())
  const clients: Socket[] = []
  for (let index = 0; index < 8; index++) {
    const opened = await relay.set(
      listenerSpec([echo], { id: `${index}`, pool: { id: `${index}`, service: `s/${index}` } }),
    )
    if (!opened.ok) throw new Error(opened.message)
    const client = open(opened.address).on('error', () => {})
    client.write('hello')
    await once(client, 'data')
    clients.push(client)
  }
  fail('die', 0)
  await eventually(() => log.at('error').length === 1)
  const lost = log.at('error')[0]?.fields['listeners']
  await eventually(() => clients.filter((client) => client.readableEnded).length === lost)
  const survivors = clients.filter((client) => !client.readableEnded)
  expect(survivors.length).toBeGreaterThan(0)
  for (const client of survivors) {
    client.write('still here')
    expect(String((await once(client, 'data'))[0])).toBe('still here')
  }
  for (const client of clients) client.destroy()
})

test('log lines of the threads arrive, as detailed as wanted', async () => {
  const log = new RecordingLogger()
  const { program } = worker
  const pod = use(await namedEndpoint('a'))
  const { address } = await relayTo(() => new ThreadedRelay({ log, clock: systemClock, threads: 1, program }), [pod])
  await ask(address)
  await eventually(() => log.at('debug4').some(({ message }) => message === 'Copied remote address bytes'))
  expect(log.at('debug3').map(({ message, fields }) => [message, fields])).toContainEqual([
    'Mapped service to endpoint',
    { service: 'shop/web:http', endpoint: hostPort(pod.address.ip, pod.address.port) },
  ])
})

test('a thread that hangs is replaced: its listeners come back, and nobody waits for it for ever', async () => {
  const log = new RecordingLogger()
  const { program, fail } = failingWorker()
  const make = () =>
    new ThreadedRelay({ log, clock: systemClock, threads: 1, program, settings: { stuckAfterMs: 3_000 } })
  const { relay, address, stats } = await relayTo(make, [use(await echoEndpoint())])
  expect(await ask(address, 'hello')).toBe('hello')
  fail('hang', 'all')
  await eventually(() => log.at('error').length === 1)
  expect(log.at('error')[0]?.fields).toMatchObject({
    listeners: 1,
    error: { message: expect.stringContaining('did not answer for 3 s') as string },
  })
  await eventually(() => relay.stats().descriptors.used === 1)
  expect(await ask(address, 'again')).toBe('again')
  expect(stats()).toMatchObject({ connections: 2, bytesIn: 'hello'.length + 'again'.length })

  fail('hang', 'all')
  await relay[Symbol.asyncDispose]()
  expect(await ask(address)).toBe('ECONNREFUSED')
})

/** Its threads fail when told so: all, or the one with this number. */
function failingWorker() {
  const { program, channel: name } = worker.failing
  const channel = new BroadcastChannel(name)
  onTestFinished(() => channel.close())
  const fail = (how: 'die' | 'hang', who: number | 'all') =>
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origin
    channel.postMessage({ how, who })
  return { program, fail }
}
