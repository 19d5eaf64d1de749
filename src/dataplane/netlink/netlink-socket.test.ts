import { describe, expect, test } from 'vitest'
import { attribute, cString } from './attribute.ts'
import { encodeMessage, messageFlag } from './message.ts'
import type { NetlinkMessage } from './message.ts'
import { NetlinkSocket } from './netlink-socket.ts'
import type { NetlinkRequest } from './netlink.ts'
import { hex } from './testing/hex.ts'
import { ScriptedDatagrams } from './testing/scripted-datagrams.ts'
import type { Answer } from './testing/scripted-datagrams.ts'

const { signal } = new AbortController()
const multi = 2
const { capped, dumpInterrupted, hasAckAttributes } = messageFlag

const list: NetlinkRequest = { doing: 'list the things', type: 0x101, body: hex('02000000') }
const remove = (name: string): NetlinkRequest => ({ doing: `remove ${name}`, type: 0x102, body: Buffer.from(name) })

const data = (sequence: number, digits: string, flags = 0) => encodeMessage(0x100, flags, sequence, hex(digits))
const done = (sequence: number, flags = 0) => encodeMessage(3, multi | flags, sequence, hex('00000000'))
function ack(sequence: number, errno = 0, text = ''): Buffer {
  const body = Buffer.alloc(20)
  body.writeInt32LE(-errno)
  const words = text === '' ? [] : [attribute(1, cString(text))]
  return encodeMessage(2, capped | (text === '' ? 0 : hasAckAttributes), sequence, Buffer.concat([body, ...words]))
}

function socketHearing(...answers: readonly Answer[]) {
  const datagrams = new ScriptedDatagrams(...answers)
  return { datagrams, socket: new NetlinkSocket(datagrams) }
}

const bytesOf = ({ body: { buffer, from, to } }: NetlinkMessage) => buffer.toString('hex', from, to)

/** The messages of a dump, and the reason of its error. */
async function readAll(socket: NetlinkSocket): Promise<{ bodies: string[]; reason: unknown }> {
  const bodies: string[] = []
  try {
    for await (const messages of socket.dump(list, signal)) bodies.push(...messages.map(bytesOf))
    return { bodies, reason: 'complete' }
  } catch (error) {
    return { bodies, reason: (error as { reason?: unknown }).reason }
  }
}

describe('a request', () => {
  test('asks for an acknowledgement and gives the data that came before it', async () => {
    const { datagrams, socket } = socketHearing(data(1, 'aaaa'), ack(1))
    expect((await socket.request(list, signal)).map(bytesOf)).toEqual(['aaaa'])
    expect(datagrams.sent).toEqual([hex('14000000 0101 0500 01000000 00000000 02000000')])
    expect(datagrams.isClosed).toBe(false)
  })

  test('passes over answers that were meant for an earlier one', async () => {
    const { socket } = socketHearing(ack(1), ack(1), Buffer.concat([ack(1, 2), data(2, 'bbbb')]), ack(2))
    await socket.request(list, signal)
    expect((await socket.request(list, signal)).map(bytesOf)).toEqual(['bbbb'])
  })

  for (const [errno, reason] of [
    [1, 'not-permitted'],
    [2, 'not-found'],
    [3, 'not-found'],
    [17, 'exists'],
    [16, 'busy'],
    [4, 'interrupted'],
    [95, 'unsupported'],
    [22, 'failed'],
    [4103, 'failed'],
  ] as const)
    test(`fails with "${reason}" for errno ${errno}, and says what it was about`, async () => {
      const { socket } = socketHearing(ack(1, errno))
      await expect(socket.request(list, signal)).rejects.toMatchObject({
        name: 'NetlinkError',
        reason,
        errno,
        message: expect.stringContaining('cannot list the things: '),
      })
    })

  test('repeats the words of the kernel', async () => {
    const { socket } = socketHearing(ack(1, 22, 'attribute 7 is wrong'))
    await expect(socket.request(list, signal)).rejects.toThrow('EINVAL, attribute 7 is wrong')
  })

  test('can be followed by another after the kernel refused it', async () => {
    const { socket } = socketHearing(ack(1, 2), ack(2))
    await expect(socket.request(list, signal)).rejects.toMatchObject({ reason: 'not-found' })
    expect(await socket.request(list, signal)).toEqual([])
  })

  test('fails when the kernel has nothing to say', async () => {
    const { socket } = socketHearing(undefined)
    await expect(socket.request(list, signal)).rejects.toMatchObject({ reason: 'failed' })
  })

  test('is not sent once the signal has aborted', async () => {
    const { datagrams, socket } = socketHearing(ack(1))
    await expect(socket.request(list, AbortSignal.abort(new Error('stopping')))).rejects.toThrow('stopping')
    expect(datagrams.sent).toEqual([])
  })
})

describe('a dump', () => {
  test('gives the data of all datagrams up to the end', async () => {
    const { datagrams, socket } = socketHearing(
      Buffer.concat([data(1, 'aa', multi), data(1, 'bb', multi)]),
      Buffer.concat([data(1, 'cc', multi), done(1)]),
      data(1, 'dd', multi),
    )
    expect(await readAll(socket)).toEqual({ bodies: ['aa', 'bb', 'cc'], reason: 'complete' })
    expect(datagrams.sent).toEqual([hex('14000000 0101 0103 01000000 00000000 02000000')])
  })

  for (const [where, answers] of [
    ['in the data', [data(1, 'aa', multi | dumpInterrupted), data(1, 'bb', multi), done(1)]],
    ['at the end', [data(1, 'aa', multi), data(1, 'bb', multi), done(1, dumpInterrupted)]],
  ] as const)
    test(`that was interrupted (marked ${where}) gives everything, and then says so`, async () => {
      const { socket } = socketHearing(...answers)
      expect(await readAll(socket)).toEqual({ bodies: ['aa', 'bb'], reason: 'interrupted' })
    })

  test('that lost datagrams is interrupted, and its socket is closed', async () => {
    const { datagrams, socket } = socketHearing(data(1, 'aa', multi), 'ENOBUFS')
    expect(await readAll(socket)).toEqual({ bodies: ['aa'], reason: 'interrupted' })
    expect(datagrams.isClosed).toBe(true)
    await expect(socket.request(list, signal)).rejects.toMatchObject({ reason: 'closed' })
  })

  test('that ends without an end is not taken for a whole one', async () => {
    const { socket } = socketHearing(data(1, 'aa', multi), undefined)
    expect(await readAll(socket)).toEqual({ bodies: ['aa'], reason: 'failed' })
  })

  test('with a datagram that was cut off fails', async () => {
    const { socket } = socketHearing(data(1, 'aabbccdd', multi).subarray(0, 18))
    expect(await readAll(socket)).toEqual({ bodies: [], reason: 'failed' })
  })

  test('that the kernel refuses fails with its reason', async () => {
    const { socket } = socketHearing(ack(1, 1))
    expect(await readAll(socket)).toEqual({ bodies: [], reason: 'not-permitted' })
  })

  test('that is left early closes the socket, so that nobody gets its rest', async () => {
    const { datagrams, socket } = socketHearing(data(1, 'aa', multi), data(1, 'bb', multi), done(1))
    for await (const _ of socket.dump(list, signal)) break
    expect(datagrams.isClosed).toBe(true)
  })

  test('stops between two datagrams when the signal aborts', async () => {
    const { datagrams, socket } = socketHearing(data(1, 'aa', multi), data(1, 'bb', multi), done(1))
    const abort = new AbortController()
    const read = async () => {
      for await (const _ of socket.dump(list, abort.signal)) abort.abort(new Error('stopping'))
    }
    await expect(read()).rejects.toThrow('stopping')
    expect(datagrams.isClosed).toBe(true)
  })

  test('does not share its socket', async () => {
    const { socket } = socketHearing(data(1, 'aa', multi), done(1))
    for await (const _ of socket.dump(list, signal))
      await expect(socket.request(list, signal)).rejects.toMatchObject({ reason: 'busy' })
    expect(await readAll(socketHearing(done(1)).socket)).toMatchObject({ reason: 'complete' })
  })
})

describe('a batch', () => {
  const requests = [remove('a'), remove('b'), remove('c')]

  test('is one datagram in which only the last request asks for an acknowledgement', async () => {
    const { datagrams, socket } = socketHearing(ack(3))
    expect(await socket.batch(requests, signal)).toEqual(new Map())
    expect(datagrams.sent).toEqual([
      hex(`11000000 0201 0100 01000000 00000000 61000000
           11000000 0201 0100 02000000 00000000 62000000
           11000000 0201 0500 03000000 00000000 63000000`),
    ])
  })

  test('gives the error of each request that failed, the last one included', async () => {
    const { socket } = socketHearing(ack(1, 2), ack(3, 1))
    const errors = await socket.batch(requests, signal)
    expect([...errors].map(([index, { reason, message }]) => [index, reason, message.slice(0, 15)])).toEqual([
      [0, 'not-found', 'cannot remove a'],
      [2, 'not-permitted', 'cannot remove c'],
    ])
  })

  test('of which the kernel took nothing back but errors is over when it falls silent', async () => {
    const { datagrams, socket } = socketHearing(ack(2, 22), undefined)
    expect([...(await socket.batch(requests, signal)).keys()]).toEqual([1])
    expect(datagrams.isClosed).toBe(false)
  })

  test('whose errors overflowed the queue is interrupted: nobody knows what happened', async () => {
    const { socket } = socketHearing(ack(1, 2), 'ENOBUFS')
    await expect(socket.batch(requests, signal)).rejects.toMatchObject({ reason: 'interrupted' })
  })

  test('without requests sends nothing', async () => {
    const { datagrams, socket } = socketHearing()
    expect(await socket.batch([], signal)).toEqual(new Map())
    expect(datagrams.sent).toEqual([])
  })

  test('without any answer fails', async () => {
    const { socket } = socketHearing(undefined)
    await expect(socket.batch(requests, signal)).rejects.toMatchObject({ reason: 'failed' })
  })
})

test('a socket is closed once', async () => {
  const { datagrams, socket } = socketHearing()
  await socket[Symbol.asyncDispose]()
  expect(datagrams.isClosed).toBe(true)
  datagrams.isClosed = false
  await socket[Symbol.asyncDispose]()
  expect(datagrams.isClosed).toBe(false)
})
