/** A connection to the proxy that runs. Node's own sockets would lose the descriptors that come with the lines. */
import { closeSync } from 'node:fs'
import { constants } from 'node:os'
import type { Clock } from '../../core/clock.ts'
import type { Libc } from '../../dataplane/libc/load-libc.ts'
import { renderMessage } from './messages.ts'
import type { FromNewcomer } from './messages.ts'

export class LineConnection implements Disposable {
  readonly #libc: Libc
  readonly #fd: number
  readonly #clock: Clock
  readonly #room = Buffer.alloc(64 * 1024)
  readonly #descriptors: number[] = []
  #unread: Buffer = Buffer.alloc(0)
  #isClosed = false

  constructor(libc: Libc, fd: number, clock: Clock) {
    this.#libc = libc
    this.#fd = fd
    this.#clock = clock
  }

  /** If it cannot be sent, the other side is gone, and reading says so. */
  send(message: FromNewcomer): void {
    if (!this.#isClosed) this.#libc.sendDescriptors(this.#fd, renderMessage(message), [])
  }

  /** The next line; undefined: there will be none, because the other side is gone. Looks every so often. */
  async line(everyMs: number, signal: AbortSignal): Promise<string | undefined> {
    for (;;) {
      const end = this.#unread.indexOf('\n')
      if (end >= 0) {
        const line = this.#unread.toString('utf8', 0, end)
        this.#unread = this.#unread.subarray(end + 1)
        return line
      }
      const what = this.#isClosed ? 'end' : this.#receive()
      if (what === 'end') return undefined
      if (what === 'nothing') await this.#clock.sleep(everyMs, signal)
    }
  }

  /** All that have come; they belong to the caller. */
  takeDescriptors(): readonly number[] {
    return this.#descriptors.splice(0)
  }

  /** The same connection; this object has none any more. */
  moved(): LineConnection {
    const moved = new LineConnection(this.#libc, this.#fd, this.#clock)
    moved.#unread = this.#unread
    this.#isClosed = true
    return moved
  }

  [Symbol.dispose](): void {
    if (this.#isClosed) return
    this.#isClosed = true
    closeSync(this.#fd)
    for (const fd of this.takeDescriptors()) closeSync(fd)
  }

  #receive(): 'something' | 'nothing' | 'end' {
    const received = this.#libc.receiveDescriptors(this.#fd, this.#room)
    if (typeof received === 'number') return -received === constants.errno.EAGAIN ? 'nothing' : 'end'
    this.#descriptors.push(...received.descriptors)
    if (received.size === 0) return 'end'
    this.#unread = Buffer.concat([this.#unread, this.#room.subarray(0, received.size)])
    return 'something'
  }
}
