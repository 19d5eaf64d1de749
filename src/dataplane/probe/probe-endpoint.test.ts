import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:net'
import type { AddressInfo, Server } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { probeEndpoint } from './probe-endpoint.ts'

const never = new AbortController().signal

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

const probe = (port: number, check: Parameters<typeof probeEndpoint>[0]['check'], signal = never) =>
  probeEndpoint({ ip: '127.0.0.1', port, check }, signal)

test('a server that accepts is well, and one that is gone is not', async () => {
  const server = createServer((socket) => socket.on('error', () => {}))
  const port = await listening(server)
  expect(await probe(port, { kind: 'tcp' })).toBeUndefined()
  await new Promise((resolve) => server.close(resolve))
  expect(await probe(port, { kind: 'tcp' })).toBe('connection refused')
})

test('by HTTP the status decides', async () => {
  const port = await listening(
    createHttpServer((request, response) => {
      response.statusCode = Number(request.url?.slice(1))
      response.end()
    }),
  )
  const get = (path: string) => probe(port, { kind: 'http', path })
  expect(await get('/200')).toBeUndefined()
  expect(await get('/302')).toBeUndefined()
  expect(await get('/503')).toBe('HTTP status 503')
})

test('a server that accepts and does not answer is not well by HTTP', async () => {
  const port = await listening(createServer((socket) => socket.on('error', () => {})))
  expect(await probe(port, { kind: 'http', path: '/' })).toBe('no answer within 2 s')
})

test('who is told to end does not wait', async () => {
  const port = await listening(createServer((socket) => socket.on('error', () => {})))
  expect(await probe(port, { kind: 'http', path: '/' }, AbortSignal.timeout(20))).toMatch(/abort/i)
})
