/**
 * How this process comes after another one, and how another one comes after it. Where nothing on the machine is shared
 * (on loopback, on other systems), there is neither: then it never begins, and all of this does nothing.
 */
import { closeSync } from 'node:fs'
import type { Clock } from '../../core/clock.ts'
import type { Logger } from '../../core/logger.ts'
import type { AfterSync } from '../../core/sync/sync-runner.ts'
import type { Libc } from '../../dataplane/libc/load-libc.ts'
import { aborted } from '../../observe/http/http-server.ts'
import type { Family } from '../../net/ip.ts'
import { KeptSockets } from '../../net/kept-sockets.ts'
import type { ProxyIdentity } from './messages.ts'
import { lockName, modeOfHolder, takeLock } from './proxy-lock.ts'
import type { Predecessor } from './proxy-lock.ts'
import { RunningProxy } from './running-proxy.ts'
import { SyncGate } from './sync-gate.ts'

export interface SuccessionOptions {
  readonly self: ProxyIdentity
  readonly takesOver: boolean
  readonly untilReady: (signal: AbortSignal) => Promise<void>
  /** Undefined: this system has none. Rejects where it cannot be called. */
  readonly openLibc: () => Promise<Libc | undefined>
  readonly name?: string
  readonly clock: Clock
  readonly log: Logger
}

interface LivingPredecessor extends Predecessor {
  /** Ours when it has retired. */
  readonly lockFd: number
  readonly hold: () => void
}

/** One that does not answer any more has no connection left that this could harm. */
const retirementMs = 10_000
/** Shorter than those who stop a process usually wait before they kill it. */
const comingMs = 25_000

export class Succession implements AsyncDisposable {
  readonly sockets = new KeptSockets()
  readonly gate = new SyncGate()
  readonly #retired = new AbortController()
  readonly #serving = new AbortController()
  readonly #synced = new Set<Family>()
  #options: SuccessionOptions | undefined
  #libc: Libc | undefined
  #running: RunningProxy | undefined
  /** As long as it has not retired. */
  #predecessor: LivingPredecessor | undefined

  /** Aborts when another process serves in the place of this one. */
  get retired(): AbortSignal {
    return this.#retired.signal
  }

  /** Resolves when no other proxy programs this node. */
  async begin(options: SuccessionOptions, signal: AbortSignal): Promise<void> {
    const { log, openLibc, name = lockName } = options
    const libc = await openLibc().catch((error: unknown) => {
      log.warn('running without a lock: koffi, which it needs, cannot be loaded here', { error })
    })
    if (libc === undefined) return
    this.#options = options
    this.#libc = libc
    const held = await takeLock({ ...options, name, libc, uid: ownUid() }, signal)
    if (held === undefined) return
    if (held.predecessor === undefined) return this.#hold(libc, held.fd)
    this.sockets.wereHanded(held.predecessor.sockets)
    this.sockets.areShared = true
    this.#predecessor = { ...held.predecessor, hold: () => this.#hold(libc, held.fd), lockFd: held.fd }
  }

  /** Of the process that is handing over to this one. */
  get predecessorMode(): string | undefined {
    return this.#predecessor?.identity.mode
  }

  /** Of the proxy that serves this node now, which is another one when this one has retired. Undefined: not known. */
  async currentMode(): Promise<string | undefined> {
    if (this.#options === undefined || this.#libc === undefined) return undefined
    const { name = lockName, clock } = this.#options
    return modeOfHolder({ libc: this.#libc, name, clock }, new AbortController().signal)
  }

  /** Takes note of the syncs of one of so many families: after the first of each, this process serves. */
  afterSync(families: number): AfterSync {
    return {
      name: 'note that this proxy serves',
      isNote: true,
      run: ({ view }) => {
        // Each abort makes an error with a stack.
        if (this.#serving.signal.aborted) return
        this.#synced.add(view.family)
        if (this.#synced.size === families) this.#serving.abort()
      },
    }
  }

  /** The predecessor may go when this process serves and nothing leads to it any more. */
  async run(untilNothingLeadsToIt: Promise<void>, signal: AbortSignal): Promise<void> {
    if (this.#predecessor === undefined) return
    await aborted(AbortSignal.any([signal, this.#serving.signal]))
    // A node that changes its mode has the rules of the one before, until they are removed.
    if (this.#predecessor.identity.mode !== this.#options?.self.mode)
      await Promise.race([untilNothingLeadsToIt, aborted(signal)])
    if (!signal.aborted) await this.#complete(this.#predecessor, signal)
  }

  /** Aborts after the signal does: later if somebody is about to take over, who would find nothing to take. */
  endingAfter(signal: AbortSignal): AbortSignal {
    const ended = new AbortController()
    const end = async () => {
      await this.#running?.untilNobodyComes(comingMs)
      ended.abort(signal.reason)
    }
    if (signal.aborted) void end()
    else signal.addEventListener('abort', () => void end(), { once: true })
    return ended.signal
  }

  /** The last: whoever waits begins when this is done. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const { fd } of this.sockets.takeRest()) closeSync(fd)
    if (this.#predecessor !== undefined) {
      closeSync(this.#predecessor.lockFd)
      this.#predecessor.connection[Symbol.dispose]()
    }
    await this.#running?.[Symbol.asyncDispose]()
  }

  async #complete({ connection, identity, hold }: LivingPredecessor, signal: AbortSignal): Promise<void> {
    const log = this.#options?.log
    connection.send({ kind: 'serving' })
    const patience = AbortSignal.any([signal, AbortSignal.timeout(retirementMs)])
    const answer = await connection.line(5, patience).catch(() => 'none')
    if (signal.aborted && answer === 'none') return
    if (answer === 'none') log?.warn('the proxy before this one does not answer; going on without it', { ...identity })
    else log?.info('took over from the proxy before this one', { pid: identity.pid, version: identity.version })
    this.#predecessor = undefined
    connection[Symbol.dispose]()
    this.sockets.areShared = false
    for (const { fd } of this.sockets.takeRest()) closeSync(fd)
    hold()
  }

  #hold(libc: Libc, fd: number): void {
    if (this.#options === undefined) return
    const { self, clock, log } = this.#options
    const { sockets, gate } = this
    const running = new RunningProxy({ fd, self, sockets, gate, libc, uid: ownUid(), clock, log })
    running.retired.addEventListener('abort', () => this.#retired.abort(), { once: true })
    this.#running = running
  }
}

function ownUid(): number {
  return process.geteuid?.() ?? 0
}
