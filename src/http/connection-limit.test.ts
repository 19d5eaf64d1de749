import { once } from 'node:events'
import { createServer } from 'node:http'
import type { RequestListener, ServerResponse } from 'node:http'
import { connect } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { ConnectionLimit, connectionsFor } from './connection-limit.ts'

const hello: RequestListener = (_request, response) => response.end('hello')
const get = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'

test('who has been idle longest makes room for the next', async () => {
  const { client, limit } = await serve({ max: 3 })
  const [first, second, third] = [await client(), await client(), await client()]
  await first.ask()
  const fourth = await client()
  await second.gone()
  expect(await fourth.ask()).toContain('hello')
  expect([first.isOpen, third.isOpen, fourth.isOpen]).toEqual([true, true, true])
  expect(limit.size).toBe(3)
})

test('a client with many connections loses its own, not those of others', async () => {
  const { client } = await serve({ max: 4 })
  const balancer = await client('127.0.0.1')
  await balancer.ask()
  const greedy = [await client('127.0.0.2'), await client('127.0.0.2'), await client('127.0.0.2')]
  for (let round = 0; round < 10; round++) greedy.push(await client('127.0.0.2'))
  await Promise.all(greedy.slice(0, 10).map((one) => one.gone()))
  expect(await balancer.ask()).toContain('hello')
})

test('half a request is no reason to stay', async () => {
  const { client } = await serve({ max: 1 })
  const slow = await client()
  slow.socket.write('GET / HTTP/1.1\r\nX-Slow: ')
  const next = await client()
  await slow.gone()
  expect(await next.ask()).toContain('hello')
})

test('a request under way is finished, and a client beyond the limit is turned away meanwhile', async () => {
  const underWay: ServerResponse[] = []
  const { client } = await serve({ max: 2, handler: (_request, response) => void underWay.push(response) })
  const [one, two] = [await client(), await client()]
  const answers = [one.ask(), two.ask()]
  await vi.waitUntil(() => underWay.length === 2)
  await (await client()).gone()
  for (const response of underWay) response.end('at last')
  for (const answer of answers) expect(await answer).toContain('at last')
  expect((await client()).isOpen).toBe(true)
})

test('a client that does not take its answer makes room', async () => {
  const large = Buffer.alloc(64 * 1024 * 1024)
  const answered = vi.fn<() => void>()
  const handler: RequestListener = (_request, response) => {
    response.end(large)
    answered()
  }
  const { client } = await serve({ max: 1, handler })
  const deaf = await client()
  deaf.socket.pause()
  deaf.socket.write(get)
  await vi.waitUntil(() => answered.mock.calls.length === 1)
  const next = await client()
  deaf.socket.resume()
  await deaf.gone()
  expect(next.isOpen).toBe(true)
})

test('a limit can hold for several servers, and what has ended does not count', async () => {
  const limit = new ConnectionLimit(2)
  const [one, two] = [await serve({ limit }), await serve({ limit })]
  const first = await one.client()
  await two.client()
  expect(limit.size).toBe(2)
  first.socket.destroy()
  await vi.waitUntil(() => limit.size === 1)
  expect(await (await two.client()).ask()).toContain('hello')
})

test('however many files a process may open, there is room for health checks and for the real work', () => {
  expect([100, 400, 1024, 65_536, 1_048_576].map(connectionsFor)).toEqual([8, 10, 25, 512, 512])
})

async function serve({
  max = 1,
  limit = new ConnectionLimit(max),
  handler = hello,
}: {
  max?: number
  limit?: ConnectionLimit
  handler?: RequestListener
}) {
  const server = createServer(handler).listen(0, '127.0.0.1')
  limit.bound(server)
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  /** Returns when the server has seen the connection. */
  const client = async (localAddress = '127.0.0.1') => {
    const accepted = once(server, 'connection')
    const socket = connect({ port, host: '127.0.0.1', localAddress })
    socket.on('error', () => {})
    onTestFinished(() => void socket.destroy())
    await accepted
    return clientOf(socket)
  }
  return { client, limit }
}

function clientOf(socket: Socket) {
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  return {
    socket,
    get isOpen() {
      return !socket.destroyed
    },
    async ask(): Promise<string> {
      socket.write(get)
      const [answer] = (await once(socket, 'data')) as [Buffer]
      return answer.toString()
    },
    async gone(): Promise<void> {
      socket.resume()
      await closed
    },
  }
}
