/**
 * The relay for TCP in a process of its own, written in C (`native/relay`): the bytes of bulk connections stay in the
 * kernel. This side tells it what to serve, reads its counters, and starts it again when it dies.
 */
import { closeSync } from 'node:fs'
import type { Clock } from '../../../core/clock.ts'
import type { Logger } from '../../../core/logger.ts'
import { loadLibc } from '../../libc/load-libc.ts'
import type { Libc } from '../../libc/load-libc.ts'
import { DescriptorBudget } from '../descriptor-budget.ts'
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
import { withDefaults } from '../node/node-relay.ts'
import { relayStats } from '../relay-stats.ts'
import { noReports, type OnConnection } from '../connection-report.ts'
import { PastCounters, type Counted } from '../past-counters.ts'
import { CounterSlots, sizeOfSlots } from './counter-slots.ts'
import { EndpointSlots } from './endpoint-slots.ts'
import { EngineProcess } from './engine-process.ts'
import { EnginePools } from './engine-pools.ts'
import { clientsOf } from './engine-clients.ts'
import { listenAt } from './listening-socket.ts'
import { EngineReports } from './engine-reports.ts'
import { createSharedMemory, type SharedMemory } from './shared-memory.ts'

export interface NativeRelayOptions {
  readonly log: Logger
  readonly clock: Clock
  readonly workers: number
  readonly program: string
  /** Endpoints may ask to see the client's address. Otherwise the engine gives up the privileges for that. */
  readonly mayBeTransparent?: boolean
  readonly settings?: Partial<RelaySettings>
  /** Is told of connections, as many as the settings want. */
  readonly onConnection?: OnConnection
}

interface Held {
  readonly spec: ListenerSpec
  readonly slot: number
  readonly address: SocketAddress
  /** The engine has a copy. */
  readonly fd: number
}

/** An engine that dies sooner than this is started again after a pause, so that crashes do not fill the log. */
const shortestLifeMs = 1_000

export class NativeRelay implements Relay {
  readonly #log: Logger
  readonly #clock: Clock
  readonly #settings: RelaySettings
  readonly #options: NativeRelayOptions
  readonly #memory: SharedMemory
  readonly #libc: Libc
  readonly #slots: CounterSlots
  readonly #endpoints: EndpointSlots
  readonly #past = new PastCounters()
  readonly #descriptors: DescriptorBudget
  readonly #reports: EngineReports
  readonly #ending = new AbortController()
  readonly #heldById = new Map<string, Held>()
  readonly #specsBySlot = new Map<number, ListenerSpec>()
  /** Listeners that were removed and still have connections. */
  readonly #draining = new Set<number>()
  #pools: EnginePools
  #engine: EngineProcess
  #startedAtMs: number
  /** Resolves when an engine runs that has opened all listeners. */
  #running: Promise<void> = Promise.resolve()

  /** Rejects where the executable does not start or its memory cannot be shared. */
  static async start(options: NativeRelayOptions): Promise<NativeRelay> {
    const libc = await loadLibc()
    const memory = createSharedMemory(libc, sizeOfSlots(options.workers))
    const relay = new NativeRelay(options, memory, libc)
    try {
      await relay.#engine.ask('follow', 0)
      return relay
    } catch (error) {
      await relay[Symbol.asyncDispose]()
      throw error
    }
  }

  private constructor(options: NativeRelayOptions, memory: SharedMemory, libc: Libc) {
    this.#libc = libc
    const { log, clock, workers, settings = {}, onConnection } = options
    this.#log = log
    this.#clock = clock
    this.#options = options
    this.#settings = withDefaults(onConnection === undefined ? { ...settings, ...noReports } : settings)
    this.#memory = memory
    this.#slots = new CounterSlots(memory.bytes, workers)
    this.#endpoints = new EndpointSlots(this.#slots)
    this.#descriptors = new DescriptorBudget({
      limit: this.#settings.maxDescriptors,
      log,
      clock,
      usedByThread: this.#slots.usedDescriptors,
    })
    this.#reports = new EngineReports({
      log,
      clock,
      descriptors: this.#descriptors,
      poolOf: (slot) => this.#specsBySlot.get(slot)?.pool,
      onGone: (slot) => this.#forgetSlot(slot),
      onEndpointLeft: (slot, generation) => this.#endpoints.left(slot, generation),
      // Each engine counts its connections from the start.
      onConnection: (report) => onConnection?.({ ...report, id: `${this.#engine.pid}-${report.id}` }),
    })
    this.#startedAtMs = clock.monotonic()
    this.#engine = this.#start()
    this.#pools = new EnginePools(this.#engine, this.#endpoints)
  }

  get pid(): number | undefined {
    return this.#engine.pid
  }

  async set(spec: ListenerSpec): Promise<ListenResult> {
    await this.#settled()
    const engine = this.#engine
    const result = await this.#setNow(spec)
    // It may have died or hung because of something else, so its successor is asked once.
    if (result.ok || this.#ending.signal.aborted || !(await engine.isLost())) return result
    await this.#settled()
    return this.#setNow(spec)
  }

  async #setNow(spec: ListenerSpec): Promise<ListenResult> {
    const held = this.#heldById.get(spec.id)
    const stays = held !== undefined && isBoundAs(held.spec.protocol, held.address, spec)
    if (held !== undefined && !stays) await this.remove(spec.id)
    try {
      this.#reports.follow(this.#engine)
      return { ok: true, address: stays ? await this.#change(held, spec) : await this.#open(spec) }
    } catch (error) {
      return listenFailure(spec, error)
    }
  }

  async remove(id: string): Promise<void> {
    await this.#settled()
    const held = this.#heldById.get(id)
    if (held === undefined) return
    this.#heldById.delete(id)
    this.#draining.add(held.slot)
    this.#pools.release(held.spec.pool.id)
    // If the engine dies instead, its listeners are closed as well.
    await this.#engine.ask('close', held.slot).catch(() => {})
    closeSync(held.fd)
  }

  listening(): readonly ListeningSocket[] {
    return [...this.#heldById.values()].map(({ spec: { id, protocol }, address, fd }) => ({
      id,
      protocol,
      address,
      fd,
    }))
  }

  counts(id: string): TrafficCounts | undefined {
    const held = this.#heldById.get(id)
    return held === undefined ? undefined : this.#slots.read(held.slot).snapshot()
  }

  endpointCounts(pool: string): ReadonlyMap<string, EndpointCounts> {
    return this.#endpoints.counts(pool)
  }

  totals(): RelayTotals {
    const { used, budget } = this.#descriptors
    return {
      ...this.#slots.readEngine().snapshot(),
      carried: this.#past.with(this.#counted()),
      descriptors: { used, budget },
    }
  }

  stats(): RelayStats {
    this.#reports.follow(this.#engine)
    return relayStats({
      held: [...this.#heldById.values()].map((one) => ({ ...one, counters: this.#slots.read(one.slot) })),
      draining: [...this.#draining].map((slot) => this.#slots.read(slot)),
      pools: this.#pools.size,
      descriptors: this.#descriptors,
    })
  }

  transparentConnections(): number {
    return this.#slots.transparentConnections
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#ending.signal.aborted) return
    this.#ending.abort()
    await Promise.all([...this.#heldById.keys()].map((id) => this.remove(id)))
    const error = await this.#engine.end(this.#settings.shutdownGraceMs)
    if (error !== undefined) this.#log.warn('the native relay did not stop cleanly', { error })
    closeSync(this.#memory.fd)
  }

  #start(): EngineProcess {
    this.#descriptors.forgetAll()
    this.#slots.forgetTransparent()
    return new EngineProcess({
      program: this.#options.program,
      workers: this.#options.workers,
      descriptorBudget: this.#descriptors.budget,
      settings: this.#settings,
      memoryFd: this.#memory.fd,
      libc: this.#libc,
      mayBeTransparent: this.#options.mayBeTransparent ?? false,
      clock: this.#clock,
      onReport: (words) => this.#reports.heard(words),
      onDied: (error) => {
        if (!this.#ending.signal.aborted) this.#running = this.#restart(error)
        else this.#log.warn('the native relay did not stop cleanly', { error })
      },
    })
  }

  async #open(spec: ListenerSpec): Promise<SocketAddress> {
    const slot = this.#slots.take()
    if (slot === undefined) throw new Error('too many listeners')
    let fd: number | undefined
    try {
      fd = spec.fd ?? listenAt(this.#libc, spec.address)
      return await this.#openIn(slot, spec, fd)
    } catch (error) {
      if (fd !== undefined) closeSync(fd)
      this.#forgetSlot(slot)
      throw error
    }
  }

  async #openIn(slot: number, { fd: _taken, ...spec }: ListenerSpec, fd: number): Promise<SocketAddress> {
    this.#specsBySlot.set(slot, spec)
    const pools = this.#pools
    const pool = pools.acquire(spec.pool)
    const { ip, port: wanted } = spec.address
    try {
      await this.#engine.giveSocket(fd)
      const port = await this.#engine.ask('listen', slot, ip, wanted, pool, ...clientsOf(spec))
      const address = { ip: spec.address.ip, port: Number(port) }
      this.#heldById.set(spec.id, { spec, slot, address, fd })
      return address
    } catch (error) {
      pools.release(spec.pool.id)
      throw error
    }
  }

  /** Changes the endpoints and the allowed clients of a listener that stays open. */
  async #change({ spec: old, slot, address, fd }: Held, spec: ListenerSpec): Promise<SocketAddress> {
    this.#specsBySlot.set(slot, spec)
    this.#heldById.set(spec.id, { spec, slot, address, fd })
    const pool = this.#pools.acquire(spec.pool)
    this.#pools.release(old.pool.id)
    await this.#engine.ask('assign', slot, pool, ...clientsOf(spec))
    return address
  }

  *#counted(): Iterable<Counted> {
    for (const [slot, { protocol }] of this.#specsBySlot) yield { protocol, counters: this.#slots.read(slot) }
  }

  #forgetSlot(slot: number): void {
    const spec = this.#specsBySlot.get(slot)
    if (spec !== undefined) this.#past.add({ protocol: spec.protocol, counters: this.#slots.read(slot) })
    this.#draining.delete(slot)
    this.#specsBySlot.delete(slot)
    this.#slots.giveBack(slot)
  }

  /** Waits for an engine that has opened all listeners; it may die again meanwhile. */
  async #settled(): Promise<void> {
    let running: Promise<void>
    do await (running = this.#running)
    while (running !== this.#running)
  }

  /** The connections are lost; the listeners come back at the addresses they had. */
  async #restart(error: Error): Promise<void> {
    const lost = [...this.#heldById.values()]
    for (const { slot } of lost) this.#slots.forgetActive(slot)
    for (const slot of this.#draining) {
      this.#slots.forgetActive(slot)
      this.#forgetSlot(slot)
    }
    this.#endpoints.startOver()
    this.#log.error('the native relay died: its connections are lost, its listeners are being reopened', {
      error,
      listeners: lost.length,
    })
    const livedMs = this.#clock.monotonic() - this.#startedAtMs
    if (livedMs < shortestLifeMs) await this.#clock.sleep(shortestLifeMs, this.#ending.signal).catch(() => {})
    if (this.#ending.signal.aborted) return
    this.#startedAtMs = this.#clock.monotonic()
    const engine = this.#start()
    this.#engine = engine
    this.#pools = new EnginePools(engine, this.#endpoints)
    this.#reports.startOver()
    this.#reports.follow(engine)
    for (const { spec, slot, address, fd } of lost) {
      if (this.#ending.signal.aborted) return
      await this.#openIn(slot, { ...spec, address }, fd).catch((reason: unknown) => {
        if (engine.hasEnded) return
        this.#heldById.delete(spec.id)
        closeSync(fd)
        this.#forgetSlot(slot)
        this.#log.warn('a listener could not be reopened', { id: spec.id, reason })
      })
      // Its successor opens all of them again.
      if (engine.hasEnded) return
    }
  }
}
