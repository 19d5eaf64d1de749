/** Bytes arrive as they were sent, however they are split and however slowly either side reads. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { open } from '../testing/clients.ts'
import { tcpEndpoint } from '../testing/endpoints.ts'
import { relayTo, use, type MakeRelay } from '../testing/relay-under-test.ts'

/** What one side does: pieces that it sends, some of them many times, and how it reads. */
interface Part {
  readonly pieces: readonly { readonly bytes: number; readonly times: number; readonly pauseMs: number }[]
  /** Pauses reading at the start and each time this many bytes have arrived; 0: never. */
  readonly stallEvery: number
}

interface Exchange {
  readonly client: Part
  readonly server: Part
}

const rarely = fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: 5 }))
const single = fc.constant(1)
/** Mostly small; some large enough for a kernel pipe, and some that fill every buffer on the way. */
const piece = fc.oneof(
  { weight: 40, arbitrary: fc.record({ bytes: fc.integer({ min: 1, max: 2_000 }), times: single, pauseMs: rarely }) },
  { weight: 10, arbitrary: fc.record({ bytes: fc.integer({ min: 1, max: 1 << 20 }), times: single, pauseMs: rarely }) },
  {
    weight: 1,
    arbitrary: fc.record({
      bytes: fc.integer({ min: 20_000, max: 60_000 }),
      times: fc.constant(400),
      pauseMs: fc.constant(0),
    }),
  },
)
const part: fc.Arbitrary<Part> = fc.record({
  pieces: fc.array(piece, { maxLength: 12 }),
  stallEvery: fc.oneof(fc.constant(0), fc.integer({ min: 200_000, max: 2_000_000 })),
})
const exchange: fc.Arbitrary<Exchange> = fc.record({ client: part, server: part })

export function streamsContract(make: MakeRelay): void {
  test('many streams at once, cut at random and read by fits and starts, arrive unchanged', async () => {
    const exchanges = new Map<number, Exchange>()
    const served = new Map<number, Promise<Outcome>>()
    const endpoint = await tcpEndpoint((socket) => {
      socket.once('readable', () => {
        const number = (socket.read(2) as Buffer).readUInt16BE()
        const todo = exchanges.get(number)
        if (todo !== undefined) served.set(number, play(socket, todo.server))
      })
    })
    const { address } = await relayTo(make, [use(endpoint)])
    await fc.assert(
      fc.asyncProperty(fc.array(exchange, { minLength: 20, maxLength: 40 }), async (all) => {
        const base = exchanges.size
        all.forEach((one, index) => exchanges.set(base + index, one))
        await Promise.all(
          all.map(async (one, index) => {
            const number = base + index
            const socket = open(address)
            socket.write(Buffer.from([number >> 8, number & 0xff]))
            const mine = await play(socket, one.client)
            const theirs = await served.get(number)
            expect(mine.received).toBe(theirs?.sent)
            expect(theirs?.received).toBe(mine.sent)
          }),
        )
      }),
      { numRuns: 4, endOnFailure: true },
    )
  }, 120_000)
}

interface Outcome {
  /** SHA-256 of all bytes. */
  readonly sent: string
  readonly received: string
}

/** Sends its pieces, ends, and reads until the other side has ended too. */
async function play(socket: Socket, { pieces, stallEvery }: Part): Promise<Outcome> {
  const received = readAll(socket, stallEvery)
  const sent = createHash('sha256')
  for (const [index, { bytes, times, pauseMs }] of pieces.entries()) {
    if (pauseMs > 0) await sleep(pauseMs)
    for (let time = 0; time < times; time++) {
      const piece = Buffer.alloc(bytes, `${time} of ${index} of ${pieces.length} `)
      sent.update(piece)
      if (!socket.write(piece)) await once(socket, 'drain')
    }
  }
  socket.end()
  return { sent: sent.digest('hex'), received: await received }
}

async function readAll(socket: Socket, stallEvery: number): Promise<string> {
  const received = createHash('sha256')
  const stall = (ms: number) => {
    socket.pause()
    setTimeout(() => socket.resume(), ms)
  }
  let untilStall = stallEvery
  socket.on('data', (chunk: Buffer) => {
    received.update(chunk)
    untilStall -= chunk.length
    if (stallEvery === 0 || untilStall > 0) return
    untilStall = stallEvery
    stall(5)
  })
  if (stallEvery > 0) stall(150)
  await once(socket, 'end')
  return received.digest('hex')
}
