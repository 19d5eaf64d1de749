/** Errors that the kernel seldom has: the test reports them in its place. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:dgram'
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { silentLogger } from '../../../core/logger.ts'
import { FakeClock } from '../../../core/testing/fake-clock.ts'
import { udpClient } from '../testing/clients.ts'
import { udpEndpoint } from '../testing/endpoints.ts'
import { use } from '../testing/relay-under-test.ts'
import { NodeRelay } from './node-relay.ts'

test('an error that a client caused changes nothing', async () => {
  const { sockets, ask } = await listener()
  sockets[0]?.emit('error', Object.assign(new Error('no'), { code: 'ECONNRESET' }))
  expect(await ask()).toBe('a:hello')
  expect(sockets).toHaveLength(1)
})

test('after another error a new socket takes over, later each time until a datagram comes', async () => {
  const { sockets, clock, ask, breakSocket } = await listener()
  for (const pauseMs of [5, 10, 20, 40, 80, 160, 320, 640, 1_000, 1_000]) {
    const before = sockets.length
    await breakSocket('ENETDOWN')
    await clock.advance(pauseMs - 1)
    expect(sockets).toHaveLength(before)
    await clock.advance(1)
    await expect.poll(() => sockets.length).toBe(before + 1)
  }
  expect(await ask()).toBe('a:hello')
  const before = sockets.length
  await breakSocket('ENETDOWN')
  await clock.advance(5)
  await expect.poll(() => sockets.length).toBe(before + 1)
  expect(await ask()).toBe('a:hello')
})

test('a listener that is removed meanwhile stays closed', async () => {
  const { sockets, clock, relay, breakSocket } = await listener()
  await breakSocket('ENETDOWN')
  await relay.remove('dns')
  await clock.advance(5_000)
  expect(sockets).toHaveLength(1)
  expect(clock.sleeping).toBe(0)
})

async function listener() {
  const clock = new FakeClock()
  const endpoint = use(await udpEndpoint('a'))
  const client = use(await udpClient())
  const relay = use(new NodeRelay({ log: silentLogger, clock }))
  const sockets: Socket[] = []
  let listenersPort: number | undefined
  const note = (message: unknown) => {
    const { socket } = message as { readonly socket: Socket }
    socket.once('listening', () => {
      const { port } = socket.address()
      if (port === (listenersPort ??= port)) sockets.push(socket)
    })
  }
  subscribe('udp.socket', note)
  onTestFinished(() => void unsubscribe('udp.socket', note))
  const pool = { id: 'dns', service: 'shop/dns', endpoints: [endpoint.address], affinitySeconds: 0 } as const
  const result = await relay.set({
    id: 'dns',
    protocol: 'UDP',
    address: { ip: '127.0.0.1', port: 0 },
    allowedSources: [],
    pool: { ...pool, whenEmpty: 'refuse' },
  })
  if (!result.ok) throw new Error(result.message)
  return {
    relay,
    clock,
    sockets,
    ask: () => client.ask(result.address, 'hello'),
    /** Until the socket is closed, and its successor waits for its time. */
    async breakSocket(this: void, code: string) {
      const broken = sockets.at(-1)
      broken?.emit('error', Object.assign(new Error(code), { code }))
      if (broken !== undefined) await once(broken, 'close')
      await clock.advance(0)
    },
  }
}
