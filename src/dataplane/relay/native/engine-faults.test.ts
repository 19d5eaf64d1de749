/** Faults that only the native engine can have: between its process and this one, and in its C code. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { createInterface } from 'node:readline'
import koffi from 'koffi'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../../core/clock.ts'
import { RecordingLogger } from '../../../core/testing/recording-logger.ts'
import * as libc from '../../libc/libc.ts'
import { ask, askTimes, eventually, open } from '../testing/clients.ts'
import { namedEndpoint, tcpEndpoint } from '../testing/endpoints.ts'
import { relayProcess } from '../testing/relay-process.ts'
import { listenerSpec, relayTo, use } from '../testing/relay-under-test.ts'
import { endpointSlotCount, sizeOfSlots, slotCount } from './counter-slots.ts'
import { systemError } from './engine-process.ts'
import { listenAt } from './listening-socket.ts'
import { NativeRelay } from './native-relay.ts'
import { createSharedMemory } from './shared-memory.ts'
import { buildEngine, type BuiltEngine } from './testing/build-engine.ts'

let engine: BuiltEngine
let log: RecordingLogger

beforeAll(async () => {
  engine = await buildEngine('address,undefined')
}, 60_000)
afterAll(() => engine[Symbol.asyncDispose]())
afterEach(() => log.lines.splice(0))

const start = async () => {
  log = new RecordingLogger()
  return NativeRelay.start({ log, clock: systemClock, workers: 2, program: engine.program })
}

describe('an engine that is killed', () => {
  test('and killed again while its listeners come back loses none of them', async () => {
    const { relay, addresses } = await relayWithMany(40)
    const kill = () => process.kill(relay.pid ?? 0, 'SIGKILL')
    kill()
    await eventually(() => log.at('error').length === 1)
    // The next engine starts after a pause. It is hit as soon as it has a process, and again a bit later.
    for (let died = 2; died <= 3; died++) {
      const before = relay.pid
      await eventually(() => relay.pid !== undefined && relay.pid !== before)
      kill()
      await eventually(() => log.at('error').length === died)
    }
    await relay.set(listenerSpec([], { id: 'one more', pool: { id: 'one more' } }))
    expect(await Promise.all(addresses.map((address) => ask(address)))).toEqual(addresses.map(() => 'a'))
    expect(relay.stats()).toMatchObject({ pools: 2, draining: 0 })
    await eventually(() => relay.stats().descriptors.used === 41)
    expect(log.at('warn')).toEqual([])
  })

  test('lets a listener be removed, and the whole relay be ended, before it is back', async () => {
    const { relay, addresses } = await relayWithMany(3)
    process.kill(relay.pid ?? 0, 'SIGKILL')
    await eventually(() => log.at('error').length === 1)
    await relay.remove('1')
    expect(await ask(addresses[0] ?? never())).toBe('a')
    expect(await ask(addresses[1] ?? never())).toBe('ECONNREFUSED')
    expect(relay.stats().listeners.map(({ id }) => id)).toEqual(['0', '2'])

    process.kill(relay.pid ?? 0, 'SIGKILL')
    await eventually(() => log.at('error').length === 2)
    await relay[Symbol.asyncDispose]()
    expect(relay.stats().listeners).toEqual([])
  })

  async function relayWithMany(count: number) {
    const endpoint = use(await namedEndpoint('a'))
    const relay = use(await start())
    const addresses = []
    for (let index = 0; index < count; index++) {
      const opened = await relay.set(listenerSpec([endpoint], { id: `${index}` }))
      addresses.push(opened.ok ? opened.address : never())
    }
    return { relay, addresses }
  }
})

test('an engine does not outlive the process that started it, however that ends', async () => {
  const { address: endpoint } = use(await namedEndpoint('a'))
  const relay = await relayProcess({ endpoint, engine }, { openFiles: 1_024 })
  expect(isRunning(relay.pid)).toBe(true)
  await relay.kill()
  await eventually(() => !isRunning(relay.pid))
  // The process may be gone before the kernel has closed the last of its sockets.
  await expect.poll(() => ask(relay.address)).toBe('ECONNREFUSED')
})

test('an engine that hears nothing any more does not keep the relay from ending', async () => {
  const relay = await start()
  process.kill(relay.pid ?? 0, 'SIGSTOP')
  await relay[Symbol.asyncDispose]()
  expect(log.at('warn').map(({ message }) => message)).toEqual(['the native relay did not stop cleanly'])
})

test('a pool of 5,000 endpoints is told, changed and served', async () => {
  const live = [use(await namedEndpoint('a')), use(await namedEndpoint('b'))]
  const dead = Array.from({ length: 5_000 }, (_, index) => ({
    address: { ip: `127.9.${index >> 8}.${index & 255}`, port: 9 },
  }))
  const { address, change, stats } = await relayTo(start, dead)
  expect(await ask(address)).toBe('ECONNRESET')
  for (let round = 0; round < 20; round++) await change(dead.slice(round))
  await change(live)
  expect(await askTimes(address, 10)).toEqual({ a: 5, b: 5 })
  await change([...dead, ...live])
  expect(await ask(address)).toMatch(/^[ab]$|ECONNRESET/)
  await eventually(() => stats().active === 0)
  expect(log.at('error')).toEqual([])
})

test('an endpoint that is written in two ways has one turn, and is freed once', async () => {
  const [a, b] = [use(await namedEndpoint('a', { ip: '::1' })), use(await namedEndpoint('b', { ip: '::1' }))]
  const again = { address: { ip: '0:0:0:0:0:0:0:1', port: a.address.port } }
  const { address, change } = await relayTo(start, [a, again, b])
  expect(await askTimes(address, 10)).toEqual({ a: 5, b: 5 })
  await change([again])
  await change([b])
  await change([a, b, again])
  expect(await askTimes(address, 10)).toEqual({ a: 5, b: 5 })
  expect(log.at('error')).toEqual([])
})

test.each([100, 3_000_000])('a stream of %i bytes with urgent ones in it does not stand still', async (size) => {
  let received = 0
  const endpoint = use(
    await tcpEndpoint((socket) => {
      socket.on('data', (chunk) => (received += chunk.length))
      socket.once('end', () => socket.end('all'))
    }),
  )
  const { address } = await relayTo(start, [endpoint])
  const client = open(address)
  await once(client, 'connect')
  let urgent = 0
  for (let round = 0; round < 5; round++) {
    await new Promise((resolve) => client.write(Buffer.alloc(size), resolve))
    urgent += sendUrgent(client)
    await new Promise((resolve) => client.write('tail', resolve))
    // Each tail arrives although nothing follows it. A relay need not carry the urgent bytes themselves.
    await expect.poll(() => received, { timeout: 10_000 }).toBeGreaterThanOrEqual((round + 1) * (size + 4))
  }
  expect(urgent).toBeGreaterThan(0)
  client.end()
  expect(String((await once(client, 'data'))[0])).toBe('all')
})

test('an engine that nobody listens to goes on, and says later how much it has left out', async () => {
  const said: string[] = []
  const memory = createSharedMemory(libc, sizeOfSlots(1))
  const [workers, budget, halfCloseMs, drainMs, dialMs] = [1, 10_000, 5_000, -1, 5_000]
  const slots = [slotCount, endpointSlotCount(workers)]
  const noReport = [0, 1_000, 0]
  const pair = libc.socketPair()
  if (typeof pair === 'number') throw systemError(-pair)
  const [ownEnd, itsEnd] = pair
  const child = spawn(
    engine.program,
    [workers, ...slots, budget, halfCloseMs, drainMs, 'plain', ...noReport, dialMs].map(String),
    {
      stdio: ['pipe', 'pipe', 'inherit', memory.fd, itsEnd],
    },
  ) as unknown as ChildProcessWithoutNullStreams
  const socket = listenAt(libc, { ip: '127.0.0.1', port: 0 })
  expect(libc.sendDescriptors(ownEnd, Buffer.from([0]), [socket])).toBe(1)
  for (const fd of [ownEnd, itsEnd, socket]) closeSync(fd)
  const reader = createInterface({ input: child.stdout }).on('line', (line) => said.push(line))
  const endpoint = use(await namedEndpoint('a'))
  child.stdin.write(`0 follow 1
1 pool 0 1 0 refuse round-robin none 0 - 127.0.0.1 ${endpoint.address.port} here 1 1
2 listen 0 127.0.0.1 0 0 nobody -
`)
  await eventually(() => said.length === 3)
  const port = Number(said[2]?.split(' ')[2])
  reader.pause()
  const wave = 100
  for (let sent = 0; sent < 3_000; sent += wave) {
    const answers = await Promise.all(Array.from({ length: wave }, () => ask({ ip: '127.0.0.1', port })))
    expect(new Set(answers)).toEqual(new Set(['a']))
  }
  expect(said).toHaveLength(3)
  reader.resume()
  await eventually(() => said.some((line) => /^lost \d+$/.test(line)))
  child.stdin.end()
  const [code] = (await once(child, 'close')) as [number]
  expect(code).toBe(0)
})

/** An ended process stays a zombie until its parent asks for its status. */
function isRunning(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

/** How many urgent bytes the kernel took. */
function sendUrgent(socket: Socket): number {
  const send = koffi.load(null).func('int send(int fd, const uint8_t *bytes, size_t size, int flags)') as (
    fd: number,
    bytes: Buffer,
    size: number,
    flags: number,
  ) => number
  const outOfBand = 1
  const { fd } = (socket as unknown as { readonly _handle: { readonly fd: number } })._handle
  return Math.max(0, send(fd, Buffer.from('!'), 1, outOfBand))
}

function never(): never {
  throw new Error('a listener was not opened')
}
