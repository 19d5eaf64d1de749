/**
 * The relay in worker threads. This thread only says what to serve and looks at counters in shared memory. Each
 * Service port lives in one thread, chosen by its name: its turns, its affinity and its limits need no locks.
 */
import type { Clock } from '../../../core/clock.ts'
import type { Logger } from '../../../core/logger.ts'
import { budgetOf, usedByAll } from '../descriptor-budget.ts'
import {
  isBoundAs,
  type EndpointCounts,
  type ListenerSpec,
  type ListenResult,
  type ListeningSocket,
  type Relay,
  type RelaySettings,
  type RelayStats,
  type RelayTotals,
  type SocketAddress,
  type TrafficCounts,
} from '../relay.ts'
import { listenFailure } from '../listen-failure.ts'
import { noReports, type OnConnection } from '../connection-report.ts'
import { EngineCounters } from '../engine-counters.ts'
import { ListenerCounters } from '../listener-counters.ts'
import { PastCounters, type Counted } from '../past-counters.ts'
import { withDefaults } from '../node/node-relay.ts'
import { relayStats } from '../relay-stats.ts'
import { RelayThread } from './relay-thread.ts'
import { SharedPools } from './shared-pools.ts'

export interface ThreadedRelayOptions {
  readonly log: Logger
  readonly clock: Clock
  readonly threads: number
  /** What a thread runs: `relay-worker.ts`, compiled. */
  readonly program: URL
  readonly settings?: Partial<RelaySettings>
  /** Is told of connections, as many as the settings want. */
  readonly onConnection?: OnConnection
}

interface Held {
  readonly spec: ListenerSpec
  readonly thread: number
  readonly address: SocketAddress
  readonly counters: ListenerCounters
  /** Of this process, whichever thread listens. */
  readonly fd: number | undefined
}

/** A thread that dies sooner than this is started again after a pause, so that crashes do not fill the log. */
const shortestLifeMs = 1_000
const detailLevels = [4, 3] as const

export class ThreadedRelay implements Relay {
  readonly #log: Logger
  readonly #clock: Clock
  readonly #settings: RelaySettings
  readonly #program: URL
  readonly #onConnection: OnConnection | undefined
  readonly #ending = new AbortController()
  /** Each is started when the first listener needs it. */
  readonly #threads: ({ readonly thread: RelayThread; readonly startedAtMs: number } | undefined)[]
  readonly #usedByThread: Int32Array
  readonly #shownLevel = new Int32Array(new SharedArrayBuffer(4))
  readonly #heldById = new Map<string, Held>()
  /** Listeners that were removed and still have connections. */
  readonly #draining = new Set<Held>()
  readonly #past = new PastCounters()
  readonly #pools = new SharedPools()
  /** Of each thread, also of those that it had before it died. */
  readonly #engineCounters: readonly EngineCounters[]

  constructor({ log, clock, threads, program, settings = {}, onConnection }: ThreadedRelayOptions) {
    this.#log = log
    this.#clock = clock
    this.#program = program
    this.#onConnection = onConnection
    this.#settings = withDefaults(onConnection === undefined ? { ...settings, ...noReports } : settings)
    this.#threads = Array.from({ length: threads }, () => undefined)
    this.#usedByThread = new Int32Array(new SharedArrayBuffer(threads * 4))
    this.#engineCounters = Array.from({ length: threads }, () => EngineCounters.shared())
  }

  async set(spec: ListenerSpec): Promise<ListenResult> {
    this.#noteShownLevel()
    const thread = hash(spec.pool.service) % this.#threads.length
    const held = this.#heldById.get(spec.id)
    const stays = held !== undefined && held.thread === thread && isBoundAs(held.spec.protocol, held.address, spec)
    if (held !== undefined && !stays) await this.remove(spec.id)
    return this.#setIn(thread, spec, stays ? held.counters : ListenerCounters.shared())
  }

  async remove(id: string, how?: { readonly isGentle: boolean }): Promise<void> {
    const held = this.#heldById.get(id)
    if (held === undefined) return
    this.#heldById.delete(id)
    this.#draining.add(held)
    this.#pools.release(held.spec.pool.id)
    // If the thread dies instead, its listeners are closed as well.
    await this.#threads[held.thread]?.thread.remove(id, how?.isGentle === true).catch(() => {})
    this.#forgetDrained()
  }

  listening(): readonly ListeningSocket[] {
    return [...this.#heldById.values()].flatMap(({ spec: { id, protocol }, address, fd }) =>
      fd === undefined ? [] : [{ id, protocol, address, fd }],
    )
  }

  counts(id: string): TrafficCounts | undefined {
    return this.#heldById.get(id)?.counters.snapshot()
  }

  endpointCounts(pool: string): ReadonlyMap<string, EndpointCounts> {
    return this.#pools.counts(pool)
  }

  totals(): RelayTotals {
    return {
      ...EngineCounters.sumOf(this.#engineCounters).snapshot(),
      carried: this.#past.with(this.#counted()),
      descriptors: this.#descriptors,
    }
  }

  stats(): RelayStats {
    this.#noteShownLevel()
    this.#forgetDrained()
    return relayStats({
      held: [...this.#heldById.values()],
      draining: [...this.#draining].map(({ counters }) => counters),
      pools: this.#pools.size,
      descriptors: this.#descriptors,
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort()
    this.#heldById.clear()
    const running = this.#threads.splice(0)
    await Promise.all(running.map(async (one) => one?.thread.end()))
    this.#draining.clear()
    this.#pools.clear()
    this.#usedByThread.fill(0)
  }

  async #setIn(thread: number, spec: ListenerSpec, counters: ListenerCounters): Promise<ListenResult> {
    const endpoints = this.#pools.acquire(spec.pool)
    try {
      const result = await this.#running(thread).set(spec, { listener: counters.cells, endpoints })
      const before = this.#heldById.get(spec.id)
      if (before !== undefined) this.#pools.release(before.spec.pool.id)
      if (result.ok) {
        // A change of endpoints says nothing of the socket, which stays.
        const fd = result.fd ?? before?.fd
        const { fd: _taken, ...kept } = spec
        this.#heldById.set(spec.id, { spec: kept, thread, address: result.address, counters, fd })
      } else {
        this.#heldById.delete(spec.id)
        this.#pools.release(spec.pool.id)
        // What it has counted stays in the totals.
        if (before !== undefined) this.#draining.add(before)
        this.#forgetDrained()
      }
      return result
    } catch (error) {
      this.#pools.release(spec.pool.id)
      return listenFailure(spec, error)
    }
  }

  #running(index: number): RelayThread {
    this.#ending.signal.throwIfAborted()
    const running = this.#threads[index]
    if (running !== undefined) return running.thread
    const thread = new RelayThread({
      program: this.#program,
      settings: {
        settings: this.#settings,
        usedByThread: this.#usedByThread,
        thread: index,
        shownLevel: this.#shownLevel,
        engineCells: this.#engineCounters[index]?.cells ?? EngineCounters.shared().cells,
      },
      log: this.#log,
      clock: this.#clock,
      onDied: (error) => void this.#restart(index, error),
      onConnection: this.#onConnection,
    })
    this.#threads[index] = { thread, startedAtMs: this.#clock.monotonic() }
    return thread
  }

  /** The connections are lost; the listeners come back at the addresses they had. */
  async #restart(index: number, error: Error): Promise<void> {
    const livedMs = this.#clock.monotonic() - (this.#threads[index]?.startedAtMs ?? 0)
    this.#threads[index] = undefined
    this.#usedByThread[index] = 0
    const lost = [...this.#heldById.values()].filter(({ thread }) => thread === index)
    for (const { spec, counters } of lost) {
      counters.forgetActive()
      this.#pools.forgetActive(spec.pool.id)
    }
    for (const one of this.#draining) if (one.thread === index) this.#forget(one)
    this.#log.error('a relay thread died: its connections are lost, its listeners are being reopened', {
      error,
      listeners: lost.length,
    })
    if (livedMs < shortestLifeMs) await this.#clock.sleep(shortestLifeMs, this.#ending.signal).catch(() => {})
    for (const { spec, address, counters } of lost) {
      // It was changed or removed meanwhile, so this spec is out of date.
      if (this.#heldById.get(spec.id)?.spec !== spec || this.#ending.signal.aborted) continue
      const result = await this.#setIn(index, { ...spec, address }, counters)
      if (!result.ok) this.#log.warn('a listener could not be reopened', { id: spec.id, reason: result.message })
    }
  }

  #forgetDrained(): void {
    for (const one of this.#draining) if (one.counters.active === 0) this.#forget(one)
  }

  #forget(drained: Held): void {
    this.#draining.delete(drained)
    drained.counters.forgetActive()
    this.#past.add({ protocol: drained.spec.protocol, counters: drained.counters })
  }

  *#counted(): Iterable<Counted> {
    for (const part of [this.#heldById.values(), this.#draining])
      for (const { spec, counters } of part) yield { protocol: spec.protocol, counters }
  }

  get #descriptors(): RelayStats['descriptors'] {
    return { used: usedByAll(this.#usedByThread), budget: budgetOf(this.#settings.maxDescriptors) }
  }

  /** Verbosity may change while the process runs. */
  #noteShownLevel(): void {
    const shown = detailLevels.find((level) => this.#log.wouldShow?.(level) ?? true)
    Atomics.store(this.#shownLevel, 0, shown ?? 0)
  }
}

/** FNV-1a: spreads names evenly, and the same name always lands in the same thread. */
function hash(text: string): number {
  let value = 0x811c9dc5
  for (let index = 0; index < text.length; index++) value = Math.imul(value ^ text.charCodeAt(index), 0x01000193)
  return value >>> 0
}
