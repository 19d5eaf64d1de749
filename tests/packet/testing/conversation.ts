/** One long TCP connection to an echo server. */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { answerDeadlineMs } from './answer-deadline.ts'

export class Conversation implements Disposable {
  readonly #socket: Socket
  #lines = 0

  private constructor(socket: Socket) {
    this.#socket = socket
    // Who cares whether it was cut asks.
    socket.on('error', () => {})
  }

  static async start(socket: Socket): Promise<Conversation> {
    await once(socket, 'connect')
    return new Conversation(socket)
  }

  /** Not any more once the other side, or somebody in between, has ended it. */
  get isOpen(): boolean {
    return this.#socket.readyState === 'open'
  }

  /** Says something and waits for the echo; rejects when the connection is broken. */
  async goesOn(): Promise<void> {
    if (!this.isOpen) throw new Error('the connection was cut')
    const line = `line ${this.#lines++}`
    const heard = once(this.#socket, 'data', { signal: AbortSignal.timeout(answerDeadlineMs(10_000)) })
    this.#socket.write(line)
    const [echo] = (await heard) as [Buffer]
    if (echo.toString() !== line) throw new Error(`said "${line}" and heard "${echo.toString()}"`)
  }

  [Symbol.dispose](): void {
    this.#socket.destroy()
  }
}
