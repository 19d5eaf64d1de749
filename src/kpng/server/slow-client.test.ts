/** Clients that do not read what they requested: others do not notice, and the server keeps little for them. */
import { connect } from 'node:http2'
import type { ClientHttp2Stream } from 'node:http2'
import { expect, test } from 'vitest'
import type { GlobalStore } from '../store/global-store.ts'
import { sampleService, syncedStore } from '../testing/cluster-samples.ts'
import { DeafClient } from '../testing/deaf-client.ts'
import { rawWatch } from '../testing/raw-watch.ts'
import type { RawWatch } from '../testing/raw-watch.ts'
import { testServer } from '../testing/test-server.ts'
import { localWatchPath } from '../wire/grpc-names.ts'
import { syncFrame as sync } from '../wire/op-frames.ts'

/** A request for node-a. */
const request = Buffer.from('00000000080a066e6f64652d61', 'hex')
const patiently = { timeout: 20_000 }
const services = 4000
const pad = 'x'.repeat(2000)
/** The whole state is larger than 8 MB, more than any socket buffers. */
const stateBytes = services * pad.length
const deafClients = 5
/** One piece of 64 KiB for each client, and some overhead. */
const unsentLimit = deafClients * 96 * 1024

function largeStore(options?: Parameters<typeof syncedStore>[0]): GlobalStore {
  const store = syncedStore(options)
  for (let i = 0; i < services; i++) store.setService(padded(i, 80))
  store.commit()
  return store
}

function padded(index: number, port: number) {
  return sampleService(`default/svc-${index}`, { port, Labels: { pad } })
}

/** Changes one Service after the other; the watch has to receive each. Returns the most bytes that waited in memory. */
async function churn(store: GlobalStore, quick: RawWatch, changes: number, unsent: () => number): Promise<number> {
  let most = unsent()
  for (let i = 0; i < changes; i++) {
    store.setService(padded(i % services, 81 + i))
    quick.request('node-a')
    expect(await quick.untilSync()).toEqual([`+ default/svc-${i % services} ${81 + i}`, 'sync'])
    most = Math.max(most, unsent())
  }
  return most
}

test('clients that never read cost one piece each, however much changes, and others hear of every change', async () => {
  const store = largeStore()
  await using server = await testServer(store, { pushIntervalMs: 0 })
  const deaf = await Promise.all(
    Array.from({ length: deafClients }, () => DeafClient.connect(server.address, 'node-a', 50)),
  )
  await expect.poll(() => server.unsentBytes, patiently).toBeGreaterThan(deafClients * 1024)
  using quick = rawWatch(server.address)
  quick.request('node-a')
  expect(await quick.untilSync()).toHaveLength(services + 2)
  const most = await churn(store, quick, 300, () => server.unsentBytes)
  expect(most).toBeLessThan(unsentLimit)
  expect(unsentLimit).toBeLessThan(stateBytes / 10)
  for (const client of deaf) client[Symbol.dispose]()
}, 60_000)

const slowClients = {
  'does not read from its socket': async (address: string) => DeafClient.connect(address, 'node-a', 50),
  'does not read from the stream': (address: string) => Promise.resolve(pausedWatch(address)),
}

test.each(Object.entries(slowClients))(
  'a client that %s is turned away at last, and what was remembered for it is forgotten',
  async (_kind, open) => {
    const store = largeStore({ maxBacklog: 100 })
    const refused: string[] = []
    const clients: number[] = []
    const metrics = {
      clients: (_api: string, count: number) => clients.push(count),
      sent() {},
      refused: (reason: string) => refused.push(reason),
    }
    await using server = await testServer(store, { pushIntervalMs: 0, metrics })
    using slow = await open(server.address)
    await expect.poll(() => server.unsentBytes, patiently).toBeGreaterThan(1024)
    using quick = rawWatch(server.address)
    quick.request('node-a')
    await quick.untilSync()
    await churn(store, quick, 150, () => server.unsentBytes)
    expect(refused).toEqual(['too-slow'])
    expect(store.services.weight).toBeLessThanOrEqual(100)
    await expect.poll(() => clients.at(-1), patiently).toBe(1)
    await expect.poll(() => server.unsentBytes, patiently).toBe(0)
    void slow
  },
  60_000,
)

/** Its connection works, but the window of its stream is full. */
function pausedWatch(address: string): Disposable & { readonly stream: ClientHttp2Stream } {
  const session = connect(`http://${address}`)
  const stream = session.request({ ':method': 'POST', ':path': localWatchPath, 'content-type': 'application/grpc' })
  stream.on('error', () => {}) // it is turned away
  stream.write(request)
  return { stream, [Symbol.dispose]: () => session.destroy() }
}

test('a client whose window is full gets the rest when it reads on, as it was when it asked', async () => {
  const store = largeStore()
  await using server = await testServer(store, { pushIntervalMs: 0 })
  using slow = pausedWatch(server.address)
  await expect.poll(() => server.unsentBytes, patiently).toBeGreaterThan(1024)
  for (let i = 0; i < services; i++) store.deleteService(`default/svc-${i}`)
  store.commit()
  let length = 0
  let last: Buffer = Buffer.alloc(0)
  for await (const chunk of slow.stream as AsyncIterable<Buffer>) {
    length += chunk.length
    last = Buffer.concat([last, chunk]).subarray(-sync.length)
    if (last.equals(sync)) break
  }
  expect(length).toBeGreaterThan(stateBytes)
}, 60_000)
