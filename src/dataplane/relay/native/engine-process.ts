/** The process of the native engine: sends commands, receives answers and reports, and notices when it dies. */
import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { constants } from 'node:os'
import type { Readable, Writable } from 'node:stream'
import { getSystemErrorName } from 'node:util'
import type { Clock } from '../../../core/clock.ts'
import type { RelaySettings } from '../relay.ts'
import type { Libc } from '../../libc/load-libc.ts'
import { detectHang } from '../detect-hang.ts'
import { endpointSlotCount, slotCount } from './counter-slots.ts'

export interface EngineOptions {
  readonly program: string
  readonly workers: number
  readonly descriptorBudget: number
  readonly settings: RelaySettings
  readonly memoryFd: number
  readonly libc: Libc
  /** Endpoints may ask to see the client's address. */
  readonly mayBeTransparent: boolean
  readonly clock: Clock
  /** Lines that the engine sends without being asked, split into words. */
  onReport(this: void, words: readonly string[]): void
  /** It ended without being told to; requests it had not answered have failed. */
  onDied(this: void, error: Error): void
}

interface Waiting {
  resolve(answer: string | undefined): void
  reject(error: Error): void
}

/** No room in the socket, or too many descriptors are under way: the engine takes them. */
function mayBeSentLater(errno: number): boolean {
  const tooManyReferences = 109
  return errno === constants.errno.EAGAIN || errno === tooManyReferences
}

/** An engine that still runs this long after its grace no longer listens to us. */
const endPatienceMs = 5_000

export class EngineProcess {
  readonly #child: ChildProcess
  readonly #commands: Writable
  /** Sockets go over it. */
  readonly #socketsFd: number
  readonly #waitingByCall = new Map<string, Waiting>()
  readonly #options: EngineOptions
  readonly #exited: Promise<void>
  readonly #watching = new AbortController()
  /** Set once it hangs and has been killed. */
  #stuck: Error | undefined
  #pingCall = 0
  /** Whether it has answered something older than the last ping since `#takeMoved` was last called. */
  #hasMoved = false
  #ending: Error | undefined
  #isClean = false
  #lastStderr = ''
  #calls = 0
  #isEnding = false

  constructor(options: EngineOptions) {
    this.#options = options
    const pair = options.libc.socketPair()
    if (typeof pair === 'number') throw systemError(-pair)
    const [ownEnd, itsEnd] = pair
    this.#socketsFd = ownEnd
    try {
      this.#child = spawn(options.program, argumentsOf(options), {
        stdio: ['pipe', 'pipe', 'pipe', options.memoryFd, itsEnd],
        env: {},
      })
    } finally {
      closeSync(itsEnd)
    }
    const [commands, answers, stderr] = this.#child.stdio as unknown as [Writable, Readable, Readable]
    this.#commands = commands
    // Writing to a process that has died. Its exit event reports that.
    commands.on('error', () => {})
    createInterface({ input: answers }).on('line', (line) => this.#heard(line.split(' ')))
    stderr.setEncoding('utf8').on('data', (text: string) => (this.#lastStderr = text.trim()))
    this.#exited = new Promise((resolve) => {
      const died = (error: Error) => {
        if (this.#ending === undefined) closeSync(this.#socketsFd)
        this.#died(error)
        resolve()
      }
      this.#child.once('error', died)
      this.#child.once('close', (code, signal) => {
        this.#isClean = code === 0
        const detail = this.#lastStderr && `: ${this.#lastStderr}`
        died(this.#stuck ?? new Error(`the native relay ended ${endingOf(code, signal)}${detail}`))
      })
    })
    const { clock, settings } = options
    const { stuckAfterMs } = settings
    const pinged = { ping: () => this.#ping(), hasMoved: () => this.#takeMoved() }
    detectHang(pinged, { clock, stuckAfterMs }, this.#watching.signal).then(
      () => this.#endStuck(stuckAfterMs),
      () => {},
    )
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  get hasEnded(): boolean {
    return this.#ending !== undefined
  }

  /** Whether it has ended or hangs. If so, it has really ended when this resolves, and its addresses are free. */
  async isLost(): Promise<boolean> {
    if (this.#ending === undefined && this.#stuck === undefined) return false
    await this.#exited
    return true
  }

  /** Resolves once the engine has done it, with its answer; rejects if the engine is gone. */
  async ask(...words: readonly (string | number)[]): Promise<string | undefined> {
    const gone = this.#ending ?? this.#stuck
    if (gone !== undefined) throw gone
    const call = `${this.#calls++}`
    return new Promise((resolve, reject) => {
      this.#waitingByCall.set(call, { resolve, reject })
      this.#commands.write(`${call} ${words.join(' ')}\n`)
    })
  }

  /** Gives it the socket that the next command is about. */
  async giveSocket(fd: number): Promise<void> {
    for (;;) {
      if (this.#ending !== undefined) throw this.#ending
      const sent = this.#options.libc.sendDescriptors(this.#socketsFd, Buffer.from([0]), [fd])
      if (sent > 0) return
      if (!mayBeSentLater(-sent)) throw systemError(-sent)
      await this.#options.clock.sleep(1, this.#watching.signal)
    }
  }

  /** Lets connections end within the grace, then ends the process. Returns an error if it ended in another way. */
  async end(graceMs: number): Promise<Error | undefined> {
    if (this.hasEnded) return undefined
    this.#isEnding = true
    this.#watching.abort()
    const patience = setTimeout(() => this.#child.kill('SIGKILL'), graceMs + endPatienceMs)
    // If it dies instead, it has ended as well.
    await this.ask('end', graceMs).catch(() => {})
    this.#commands.end()
    await this.#exited
    clearTimeout(patience)
    return this.#isClean ? undefined : this.#ending
  }

  #ping(): Promise<unknown> {
    this.#pingCall = this.#calls
    return this.ask('ping')
  }

  #takeMoved(): boolean {
    const hasMoved = this.#hasMoved
    this.#hasMoved = false
    return hasMoved
  }

  /** Fails the pending requests at once. The addresses become free only when the process has really ended. */
  #endStuck(afterMs: number): void {
    this.#stuck = new Error(`the native relay hangs: it did not answer for ${afterMs / 1000} s, and is killed`)
    this.#failWaiting(this.#stuck)
    this.#child.kill('SIGKILL')
  }

  #heard([what, ...words]: readonly string[]): void {
    const [call = '', detail] = words
    if (what === 'done') this.#waitingByCall.get(call)?.resolve(detail)
    else if (what === 'failed') this.#waitingByCall.get(call)?.reject(systemError(Number(detail)))
    else return this.#options.onReport(what === undefined ? words : [what, ...words])
    this.#waitingByCall.delete(call)
    if (Number(call) < this.#pingCall) this.#hasMoved = true
  }

  #failWaiting(error: Error): void {
    for (const waiting of this.#waitingByCall.values()) waiting.reject(error)
    this.#waitingByCall.clear()
  }

  #died(error: Error): void {
    if (this.#ending !== undefined) return
    this.#ending = error
    this.#watching.abort()
    this.#failWaiting(error)
    if (!this.#isEnding) this.#options.onDied(error)
  }
}

function argumentsOf({ workers, descriptorBudget, settings, mayBeTransparent }: EngineOptions): readonly string[] {
  const { halfCloseTimeoutMs, drainTimeoutMs = -1, dialTimeoutsMs } = settings
  const endpoints = mayBeTransparent ? 'transparent' : 'plain'
  const { reportOneIn, reportEveryMs, failureReportsPerSecond } = settings
  const slots = [slotCount, endpointSlotCount(workers)]
  const fixed = [workers, ...slots, descriptorBudget, halfCloseTimeoutMs, drainTimeoutMs, endpoints]
  const reports = [reportOneIn, reportEveryMs, failureReportsPerSecond]
  return [...fixed, ...reports, ...dialTimeoutsMs].map(String)
}

function endingOf(code: number | null, signal: NodeJS.Signals | null): string {
  return signal === null ? `with status ${code}` : `by ${signal}`
}

export function systemError(errno: number): Error & { readonly code: string } {
  const code = errno === 0 ? 'unknown' : getSystemErrorName(-errno)
  return Object.assign(new Error(code), { code })
}
