/** Streams over real connections: what they carry, who is slow, and how they end. */
import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { once } from 'node:events'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { LiveTopic, Viewer } from '../live-topic.ts'
import { aboutNode, serveConsole } from './testing/serve-console.ts'

test('a stream begins with who serves it, and carries what is followed until it ends', async () => {
  const topic = new TestTopic('overview')
  const { address } = await serveConsole({ topics: [topic, new TestTopic('syncs')] })
  const stream = await follow(address.port, 'topic=overview&topic=unknown&topic=__proto__')
  expect(stream.answer.headers).toMatchObject({
    'content-type': 'text/event-stream',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
    'content-security-policy': expect.any(String) as string,
  })
  await stream.says(`event: about\ndata: ${JSON.stringify(aboutNode)}\n\nevent: demo\ndata: {"last":"[]"}\n\n`)
  topic.viewers[0]?.send('demo', state('a\nb\u2028"'))
  topic.viewers[0]?.sendText('demo', '{}')
  await stream.says('event: demo\ndata: {"last":"a\\nb\u2028\\""}\n\nevent: demo\ndata: {}\n\n')
  stream.answer.destroy()
  await vi.waitUntil(() => topic.viewers.length === 0)
})

test('what a topic is asked for follows its name, and twice the same is once', async () => {
  const topic = new TestTopic('service')
  const { address } = await serveConsole({ topics: [topic] })
  const stream = await follow(address.port, 'topic=service/a/b&topic=service%2Fa%2Fb&topic=service/%3Cscript%3E/..')
  await stream.says(`{"last":"[\\"a\\",\\"b\\"]"}\n\nevent: demo\ndata: {"last":"[\\"<script>\\",\\"..\\"]"}`)
  expect(topic.viewers).toHaveLength(2)
})

test('nobody looks: nothing waits for a time. Somebody looks: the stream is kept alive', async () => {
  const { address, clock } = await serveConsole()
  expect(clock.sleeping).toBe(0)
  const [one, two] = [await follow(address.port), await follow(address.port)]
  await Promise.all([one.says('about'), two.says('about')])
  expect(clock.sleeping).toBe(1)
  await clock.advance(15_000)
  await Promise.all([one.says('\n\n:\n\n'), two.says('\n\n:\n\n')])
  one.answer.destroy()
  two.answer.destroy()
  await vi.waitUntil(() => clock.sleeping === 0)
  const again = await follow(address.port)
  await again.says('about')
  await clock.advance(15_000)
  await again.says('\n\n:\n\n')
})

test('the 33rd page that follows is told so, until another is closed', async () => {
  const { address, ask } = await serveConsole()
  const streams = await Promise.all(Array.from({ length: 32 }, () => follow(address.port)))
  expect(await ask('/api/live')).toMatchObject({
    status: 503,
    headers: { 'retry-after': '5' },
    body: '32 pages follow this server, which is all it allows: close some\n',
  })
  expect(await ask('/debug/echo')).toMatchObject({ status: 200 })
  streams[7]?.answer.destroy()
  await vi.waitUntil(async () => (await ask('/api/live', { method: 'HEAD' })).status === 200)
  await vi.waitFor(async () => expect((await follow(address.port)).answer.statusCode).toBe(200))
})

test('a reader that is slow is behind until it has read', async () => {
  const topic = new TestTopic('overview')
  const { address } = await serveConsole({ topics: [topic] })
  const client = slowClient(address.port)
  await vi.waitUntil(() => topic.viewers.length === 1)
  const [viewer] = topic.viewers
  expect(viewer?.isBehind).toBe(false)
  viewer?.send('demo', state('x'.repeat(8 * 1024 * 1024)))
  expect(viewer?.isBehind).toBe(true)
  client.resume()
  await vi.waitUntil(() => viewer?.isBehind === false)
  expect(topic.viewers).toHaveLength(1)
})

test('a topic that pays no heed to that does not fill the memory: the reader is cut off', async () => {
  const topic = new TestTopic('overview')
  const { address, log } = await serveConsole({ topics: [topic] })
  slowClient(address.port)
  await vi.waitUntil(() => topic.viewers.length === 1)
  const [viewer] = topic.viewers
  for (let sent = 0; sent < 64; sent++) viewer?.send('demo', state('x'.repeat(1024 * 1024)))
  await vi.waitUntil(() => topic.viewers.length === 0)
  expect(log.at('error')).toEqual([])
})

test('a reader that reads nothing is not even kept alive, so that its connection times out', async () => {
  const topic = new TestTopic('overview')
  const { address, clock } = await serveConsole({ topics: [topic] })
  const client = slowClient(address.port)
  await vi.waitUntil(() => topic.viewers.length === 1)
  topic.viewers[0]?.send('demo', state('x'.repeat(8 * 1024 * 1024)))
  await clock.advance(15_000)
  let received = ''
  client.on('data', (chunk: Buffer) => (received += chunk.toString()))
  client.resume()
  await vi.waitUntil(() => topic.viewers[0]?.isBehind === false)
  await clock.advance(15_000)
  await vi.waitUntil(() => received.includes('\n:\n\n'))
  expect(received.match(/^:$/gm)).toHaveLength(1)
})

test('whoever was let in by a token that is changed has to leave', async () => {
  let token = 'x'.repeat(32)
  const { address, clock, streams } = await serveConsole({ token: () => token })
  const stream = await follow(address.port, '', { authorization: `Bearer ${token}` })
  await stream.says('about')
  await clock.advance(15_000)
  await stream.says('\n\n:\n\n')
  const ended = once(stream.answer, 'end')
  token = 'y'.repeat(32)
  await clock.advance(15_000)
  await ended
  expect(streams.isFull).toBe(false)
})

test('a topic that fails ends its stream with a log line, and no other', async () => {
  const broken: LiveTopic = {
    name: 'syncs',
    follow() {
      throw new Error('boom')
    },
  }
  const topic = new TestTopic('overview')
  const { address, log } = await serveConsole({ topics: [topic, broken] })
  const good = await follow(address.port, 'topic=overview')
  await expect(follow(address.port, 'topic=overview&topic=syncs')).rejects.toThrow('socket hang up')
  await vi.waitUntil(() => topic.viewers.length === 1)
  topic.viewers[0]?.send('demo', state('still here'))
  await good.says('still here')
  expect(log.at('error')).toMatchObject([{ fields: { topic: 'syncs', error: { message: 'boom' } } }])
})

test('the end waits for no stream, not even for one that nobody reads', async () => {
  const topic = new TestTopic('overview')
  const { address, streams, listener, clock } = await serveConsole({ topics: [topic] })
  const stream = await follow(address.port, 'topic=overview')
  slowClient(address.port)
  await vi.waitUntil(() => topic.viewers.length === 2)
  topic.viewers[1]?.send('demo', state('x'.repeat(8 * 1024 * 1024)))
  const ended = once(stream.answer, 'end')
  streams[Symbol.dispose]()
  await ended
  await vi.waitUntil(() => topic.viewers.length === 0)
  expect(clock.sleeping).toBe(0)
  expect(streams.isFull).toBe(true)
  await listener[Symbol.asyncDispose]()
})

/** Says what it was asked for, then what the test says. */
class TestTopic implements LiveTopic {
  readonly name: string
  readonly viewers: Viewer[] = []

  constructor(name: string) {
    this.name = name
  }

  follow(rest: readonly string[], viewer: Viewer): Disposable {
    this.viewers.push(viewer)
    viewer.send('demo', state(JSON.stringify(rest)))
    return { [Symbol.dispose]: () => void this.viewers.splice(this.viewers.indexOf(viewer), 1) }
  }
}

function state(last: string) {
  return { last } as never
}

interface Followed {
  readonly answer: IncomingMessage
  says(text: string): Promise<void>
}

function follow(port: number, query = '', headers: Readonly<Record<string, string>> = {}): Promise<Followed> {
  return new Promise((resolve, reject) => {
    const sent = request({ port, path: `/api/live?${query}`, headers, agent: false }, (answer) => {
      let received = ''
      answer.setEncoding('utf8').on('data', (chunk: string) => (received += chunk))
      answer.on('error', () => {})
      onTestFinished(() => void answer.destroy())
      resolve({ answer, says: (text) => vi.waitFor(() => expect(received).toContain(text)) })
    })
    sent.on('error', reject).end()
  })
}

/** Reads nothing until it is resumed. */
function slowClient(port: number) {
  const client = connect({ port, host: '127.0.0.1' })
  client.on('error', () => {}).pause()
  client.write('GET /api/live?topic=overview HTTP/1.1\r\nHost: localhost\r\n\r\n')
  onTestFinished(() => void client.destroy())
  return client
}
