import { expect, test } from 'vitest'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { RecordingLogger } from '../../core/testing/recording-logger.ts'
import { testEndpoint, testRoute, testView } from '../../core/testing/routes.ts'
import { ConnectionReader, readEveryMs } from './connection-reader.ts'
import { ConntrackError } from './conntrack.ts'
import { MemoryConntrack } from './memory-conntrack.ts'
import { testFlow } from './testing/flows.ts'

const never = new AbortController().signal
const pod = testEndpoint('10.64.0.1', 8080)
const web = testRoute('shop/web', { clusterIP: '10.96.0.7', endpoints: [pod] })
const flow = (port: number) =>
  testFlow({ client: `10.64.9.9:${port}`, service: '10.96.0.7:80', endpoint: pod.address, protocol: 6 })

function given({ hasAccounting = false } = {}) {
  const conntrack = new MemoryConntrack()
  const [clock, log] = [new FakeClock(), new RecordingLogger()]
  const reader = new ConnectionReader({ conntrack, hasAccounting: () => Promise.resolve(hasAccounting), clock, log })
  const read = async () => (await reader.read(testView(web), never)).get(web.key)
  return { conntrack, clock, log, reader, read }
}

test('the table is read at most every ten seconds', async () => {
  const { conntrack, clock, read } = given()
  conntrack.add(flow(1))
  expect(await read()).toMatchObject({ open: 1 })
  conntrack.add(flow(2))
  await clock.advance(readEveryMs - 1)
  expect(await read()).toMatchObject({ open: 1 })
  await clock.advance(1)
  expect(await read()).toMatchObject({ open: 2 })
  expect(conntrack.dumpCount).toBe(2)
})

test('a connection that is read twice, because reading started over, counts once', async () => {
  const { conntrack, read } = given()
  conntrack.add(flow(1), flow(2))
  conntrack.isInterrupted = true
  expect(await read()).toMatchObject({ open: 2 })
})

test('bytes are zero where the kernel counts and nothing is open, and unknown where it does not', async () => {
  expect(await given({ hasAccounting: true }).read()).toMatchObject({ open: 0, openBytesIn: 0, openBytesOut: 0 })
  expect(await given().read()).not.toHaveProperty('openBytesIn')
})

test('it says why it does not know more', async () => {
  const [on, off] = [given({ hasAccounting: true }), given()]
  await Promise.all([on.read(), off.read()])
  expect(on.reader.note).toBeUndefined()
  expect(off.reader.note).toBe('bytes: net.netfilter.nf_conntrack_acct is off')
  off.conntrack.refuseDumpWith = new ConntrackError('not-permitted', 'no')
  await off.clock.advance(readEveryMs)
  await off.read()
  expect(off.reader.note).toBe('open connections: no')
})

test('a table that cannot be read leaves the other numbers as they are', async () => {
  const { conntrack, log, read } = given()
  conntrack.refuseDumpWith = new ConntrackError('not-permitted', 'no')
  expect(await read()).toBeUndefined()
  expect(log.at('debug1')).toHaveLength(1)
})

test('a table that takes long to read is read less often', async () => {
  const { conntrack, clock, read } = given()
  const slow = conntrack.connections.bind(conntrack)
  conntrack.connections = async function* (...args) {
    await clock.advance(1_000)
    yield* slow(...args)
  }
  await read()
  await clock.advance(49_999)
  await read()
  expect(conntrack.dumpCount).toBe(1)
  await clock.advance(1)
  await read()
  expect(conntrack.dumpCount).toBe(2)
})
