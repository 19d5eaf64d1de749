import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import type { WatchLine } from '../testing/api-client.ts'
import { serverUnderTest, serviceNamed, servicesPath } from '../testing/server-under-test.ts'
import type { ServerUnderTest } from '../testing/server-under-test.ts'

const merge = 'application/merge-patch+json'

test('no change is lost or told twice, whenever a watch begins and however often it begins anew', async () => {
  await using api = await serverUnderTest()
  const stopWriting = new AbortController()
  const writing = writeUntil(api, stopWriting.signal)
  const followers = await Promise.all(Array.from({ length: 6 }, () => Follower.list(api)))
  await Promise.all(
    followers.map(async (follower, index) => {
      for (let session = 0; session < 15; session++) await follower.watchFor(({ events }) => events === 2 + index)
    }),
  )
  stopWriting.abort()
  await writing
  const last = api.server.revision
  for (const follower of followers) await follower.watchFor(({ revision }) => revision >= last)
  const truth = await Follower.list(api)
  for (const follower of followers) expect(follower.versionsByName).toEqual(truth.versionsByName)
})

test('a bookmark comes at its time and carries the latest revision, also of other kinds', async () => {
  const clock = new FakeClock()
  await using api = await serverUnderTest({ clock, bookmarkIntervalMs: 60_000 })
  await using watch = await api.client.watch(`${servicesPath}?watch=true&allowWatchBookmarks=true&resourceVersion=1`)
  await watch.until(({ object }) => object.metadata.name === 'kubernetes')
  await api.client.expect(201, 'POST', '/api/v1/namespaces', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'elsewhere' },
  })
  await clock.advance(60_000)
  expect(await watch.next()).toMatchObject({
    type: 'BOOKMARK',
    object: { kind: 'Service', apiVersion: 'v1', metadata: { resourceVersion: String(api.server.revision) } },
  })
})

test('no bookmark comes to a client that did not ask for them, and the watch ends at its time', async () => {
  const clock = new FakeClock()
  await using api = await serverUnderTest({ clock, bookmarkIntervalMs: 1000 })
  await using watch = await api.client.watch(`${servicesPath}?watch=true&timeoutSeconds=90`)
  const rest = watch.rest()
  await clock.advance(90_000)
  expect((await rest).map(({ type }) => type)).toEqual(['ADDED'])
  expect(clock.sleeping).toBe(0)
})

test('a watch that ends says with a last bookmark where to go on', async () => {
  const clock = new FakeClock()
  await using api = await serverUnderTest({ clock })
  const query = 'watch=true&allowWatchBookmarks=true&timeoutSeconds=5'
  await using watch = await api.client.watch(`${servicesPath}?${query}`)
  const rest = watch.rest()
  await clock.advance(5000)
  expect((await rest).map(({ type }) => type)).toEqual(['ADDED', 'BOOKMARK'])
})

test('a client that does not read is cut off when the history has moved past it; the others go on', async () => {
  await using api = await serverUnderTest({ historySize: 5 })
  await api.client.expect(201, 'POST', servicesPath, serviceNamed('big'))
  const slow = await openWithoutReading(api, `${servicesPath}?watch=true`)
  await using fast = await api.client.watch(`${servicesPath}?watch=true`)
  await fast.take(2)
  // Together larger than the socket buffers of both sides, so that the server has to wait for the client.
  const note = 'x'.repeat(250_000)
  for (let index = 0; index < 50; index++) {
    await api.client.patch(`${servicesPath}/big`, merge, { metadata: { annotations: { note: `${index} ${note}` } } })
    expect((await fast.next())?.object.metadata.annotations.note).toMatch(`${index} x`)
  }
  let end = ''
  slow.on('data', (chunk) => (end = (end + chunk.toString('latin1')).slice(-5)))
  slow.resume()
  await once(slow, 'close')
  // Cut off, not ended: a response that ends properly closes with an empty chunk.
  expect(end).not.toBe('0\r\n\r\n')
})

test('a server that stops ends its watches', async () => {
  const api = await serverUnderTest()
  await using watch = await api.client.watch(`${servicesPath}?watch=true`)
  const rest = watch.rest()
  await api[Symbol.asyncDispose]()
  expect((await rest).map(({ type }) => type)).toEqual(['ADDED'])
})

test('a server without streaming lists refuses them as old servers do', async () => {
  await using api = await serverUnderTest({ hasStreamingLists: false })
  const query = 'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true'
  const refused = await api.client.expect(422, 'GET', `${servicesPath}?${query}`)
  expect(refused.details.causes[0]).toMatchObject({ field: 'sendInitialEvents', reason: 'FieldValueForbidden' })
})

/** Keeps what a list and the watches after it said, and fails on an event that cannot follow. */
class Follower {
  readonly versionsByName = new Map<string, number>()
  readonly #api: ServerUnderTest
  #revision: number

  constructor(api: ServerUnderTest, revision: number) {
    this.#api = api
    this.#revision = revision
  }

  static async list(api: ServerUnderTest): Promise<Follower> {
    const { items, metadata } = await api.client.expect(200, 'GET', servicesPath)
    const follower = new Follower(api, Number(metadata.resourceVersion))
    for (const item of items) follower.versionsByName.set(item.metadata.name, Number(item.metadata.resourceVersion))
    return follower
  }

  /** Watches from the last revision until it has seen enough, then closes the connection. */
  async watchFor(isEnough: (seen: { readonly events: number; readonly revision: number }) => boolean): Promise<void> {
    await using watch = await this.#api.client.watch(`${servicesPath}?watch=true&resourceVersion=${this.#revision}`)
    for (let events = 0; !isEnough({ events, revision: this.#revision }); events++) {
      const event = await watch.next()
      if (event === undefined) throw new Error('the watch ended')
      this.#follow(event)
    }
  }

  #follow({ type, object }: WatchLine): void {
    const { name, resourceVersion } = object.metadata
    const version = Number(resourceVersion)
    if (version <= this.#revision) throw new Error(`${name} came at ${version} after ${this.#revision}`)
    if ((type === 'ADDED') === this.versionsByName.has(name)) throw new Error(`${type} ${name} cannot be`)
    if (type === 'DELETED') this.versionsByName.delete(name)
    else this.versionsByName.set(name, version)
    this.#revision = version
  }
}

/** Creates, changes and deletes a few Services again and again. */
async function writeUntil({ client }: ServerUnderTest, signal: AbortSignal): Promise<void> {
  for (let index = 0; !signal.aborted; index++) {
    const name = `s${index % 7}`
    const step = Math.floor(index / 7) % 3
    if (step === 0) await client.expect(201, 'POST', servicesPath, serviceNamed(name))
    else if (step === 1)
      await client.patch(`${servicesPath}/${name}`, merge, { metadata: { labels: { i: `${index}` } } })
    else await client.expect(200, 'DELETE', `${servicesPath}/${name}`)
  }
}

/** A raw connection that sends a request and reads only the first bytes of the answer. */
async function openWithoutReading({ server }: ServerUnderTest, path: string): Promise<Socket> {
  const { hostname, port } = new URL(server.url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  socket.on('error', () => {})
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  await once(socket, 'data')
  socket.pause()
  return socket
}
