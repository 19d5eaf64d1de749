import type { Readable } from 'node:stream'
import type { HttpResponse } from './http-connection.ts'

/** A chunk as large as this is part of a list, and many more may be waiting behind it. */
const largeBytes = 16 << 10

/** The bytes of an answer as they arrive. Whoever gets one reads it, once, in one of two ways. */
export class AnswerBody implements AsyncIterable<Buffer> {
  readonly #response: Pick<HttpResponse, 'body' | 'isWhole'>
  readonly #explain: (error: unknown) => unknown

  /** `explain` turns what the network says into what the caller should hear. */
  constructor(response: Pick<HttpResponse, 'body' | 'isWhole'>, explain: (error: unknown) => unknown) {
    this.#response = response
    // It may break off before anybody reads it.
    response.body.on('error', () => {})
    this.#explain = explain
  }

  /**
   * Calls for each chunk as soon as it is there, until that returns `false`: an iterator would take longer to hand over an
   * event of a watch than it takes to program it. Resolves when the server has ended the answer, or when there was
   * enough; rejects with what was thrown, or with what went wrong.
   */
  forEach(onChunk: (chunk: Buffer) => boolean | void): Promise<void> {
    const { body } = this.#response
    return new Promise((resolve, reject) => {
      let isOver = false
      const end = (how: () => void) => {
        if (isOver) return
        isOver = true
        how()
        if (!body.readableEnded) body.destroy()
      }
      const fail = (error: unknown) => end(() => reject(this.#explain(error)))
      body.on('end', () => (this.#response.isWhole() ? end(resolve) : fail(brokenOff())))
      body.on('error', fail)
      body.on('close', () => fail(brokenOff()))
      body.on('data', (chunk: Buffer) => {
        if (isOver) return
        try {
          if (onChunk(chunk) === false) end(resolve)
          else if (chunk.length >= largeBytes) letOthersHaveTheirTurn(body)
        } catch (error) {
          end(() => reject(error))
        }
      })
      // It may be over before anybody listens.
      if (body.destroyed) fail(body.errored ?? brokenOff())
    })
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    const { body } = this.#response
    try {
      yield* body as AsyncIterable<Buffer>
      if (!body.readableEnded || !this.#response.isWhole()) throw brokenOff()
    } catch (error) {
      throw this.#explain(error)
    }
  }
}

/** Node.js would hand over up to 32 chunks at once: nobody else would be heard for a twentieth of a second. */
function letOthersHaveTheirTurn(body: Readable): void {
  body.pause()
  setImmediate(() => body.resume())
}

function brokenOff(): Error {
  return new Error('the connection broke off in the middle of the answer')
}
