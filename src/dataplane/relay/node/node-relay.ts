/** The relay on Node's own sockets, in this thread. */
import { setMaxListeners } from 'node:events'
import type { Clock } from '../../../core/clock.ts'
import type { Logger } from '../../../core/logger.ts'
import { DescriptorBudget, openFilesLimit } from '../descriptor-budget.ts'
import { noReports, type OnConnection } from '../connection-report.ts'
import { EngineCounters } from '../engine-counters.ts'
import { ListenerCounters } from '../listener-counters.ts'
import { PastCounters, type Counted } from '../past-counters.ts'
import {
  isBoundAs,
  usualUdpIdleMs,
  type EndpointCounts,
  type ListenerSpec,
  type ListenResult,
  type ListeningSocket,
  type Relay,
  type RelaySettings,
  type RelayStats,
  type RelayTotals,
  type TrafficCounts,
} from '../relay.ts'
import { listenFailure } from '../listen-failure.ts'
import type { OpenListener } from './open-listener.ts'
import type { Pool } from './pool.ts'
import { Pools } from './pools.ts'
import { ReadBuffers } from './read-buffers.ts'
import { Reports } from './reports.ts'
import { relayStats } from '../relay-stats.ts'
import type { RelayParts } from './relay-parts.ts'
import { openTcpListener } from './tcp-listener.ts'
import { openUdpListener } from './udp-listener.ts'

export interface NodeRelayOptions {
  readonly log: Logger
  readonly clock: Clock
  /** Shuffles the turn order of endpoints. */
  readonly random?: () => number
  readonly settings?: Partial<RelaySettings>
  /** In a worker thread: the descriptors that each thread uses, and the index of this thread. */
  readonly threads?: { readonly usedByThread: Int32Array; readonly thread: number }
  /** Where it counts for all listeners together. */
  readonly counters?: EngineCounters
  /** Is told of connections, as many as the settings want. */
  readonly onConnection?: OnConnection
}

/** Where to count, if others want to read it. */
export interface CountingMemory {
  readonly listener: ListenerCounters
  /** In the order of the pool's endpoints. */
  readonly endpoints: readonly Float64Array[]
}

interface Held {
  readonly spec: ListenerSpec
  readonly listener: OpenListener
  readonly pool: Pool
}

export class NodeRelay implements Relay {
  readonly #parts: RelayParts
  readonly #ending = new AbortController()
  readonly #heldById = new Map<string, Held>()
  readonly #pools: Pools
  /** Removed listeners that still have connections. */
  readonly #draining = new Map<OpenListener, ListenerSpec['protocol']>()
  readonly #past = new PastCounters()

  constructor(options: NodeRelayOptions) {
    const { log, clock, random = Math.random, settings = {}, threads, counters = new EngineCounters() } = options
    const all = withDefaults(settings)
    const descriptors = new DescriptorBudget({ limit: all.maxDescriptors, log, clock, ...threads })
    const buffers = new ReadBuffers()
    const reports = new Reports(all, { clock, random }, options.onConnection)
    // Every change that leaves connections to drain listens to this signal, and Node would report a leak.
    setMaxListeners(0, this.#ending.signal)
    this.#parts = {
      settings: all,
      log,
      clock,
      random,
      descriptors,
      buffers,
      counters,
      reports,
      ending: this.#ending.signal,
    }
    this.#pools = new Pools(this.#parts)
  }

  async set(spec: ListenerSpec, memory?: CountingMemory): Promise<ListenResult> {
    const held = this.#heldById.get(spec.id)
    if (held !== undefined && isBoundAs(held.spec.protocol, held.listener.address, spec))
      return this.#change(held, spec, memory)
    if (held !== undefined) await this.remove(spec.id)
    return this.#open(spec, memory)
  }

  async remove(id: string, how?: { readonly isGentle: boolean }): Promise<void> {
    const held = this.#heldById.get(id)
    if (held === undefined) return
    this.#heldById.delete(id)
    await this.#stop(held, how?.isGentle)
  }

  listening(): readonly ListeningSocket[] {
    return [...this.#heldById.values()].flatMap(({ spec: { id, protocol }, listener: { address, fd } }) =>
      fd === undefined ? [] : [{ id, protocol, address, fd }],
    )
  }

  counts(id: string): TrafficCounts | undefined {
    return this.#heldById.get(id)?.listener.counters.snapshot()
  }

  endpointCounts(pool: string): ReadonlyMap<string, EndpointCounts> {
    return this.#pools.get(pool)?.endpointCounts() ?? new Map<string, EndpointCounts>()
  }

  totals(): RelayTotals {
    const { counters, descriptors } = this.#parts
    const { used, budget } = descriptors
    return { ...counters.snapshot(), carried: this.#past.with(this.#counted()), descriptors: { used, budget } }
  }

  stats(): RelayStats {
    return relayStats({
      held: [...this.#heldById.values()].map(({ spec, listener: { address, counters } }) => ({
        spec,
        address,
        counters,
      })),
      draining: Array.from(this.#draining.keys(), ({ counters }) => counters),
      pools: this.#pools.size,
      descriptors: this.#parts.descriptors,
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { clock, settings } = this.#parts
    this.#ending.abort()
    const held = [...this.#heldById.values()]
    this.#heldById.clear()
    await Promise.all(held.map((one) => this.#stop(one)))
    const finished = Promise.all(Array.from(this.#draining.keys(), (listener) => listener.finished))
    const patience = new AbortController()
    await Promise.race([
      finished.then(() => patience.abort()),
      clock.sleep(settings.shutdownGraceMs, patience.signal).catch(() => {}),
    ])
    for (const listener of this.#draining.keys()) listener.cut()
    await finished
  }

  /** Changes the endpoints and the allowed clients of a listener that stays open. */
  #change({ listener, pool: old }: Held, spec: ListenerSpec, memory: CountingMemory | undefined): ListenResult {
    const pool = this.#pools.acquire(spec.pool, memory?.endpoints)
    listener.assign({ pool, allowedSources: spec.allowedSources })
    this.#pools.release(old)
    this.#heldById.set(spec.id, { spec, listener, pool })
    return { ok: true, address: listener.address }
  }

  async #open(spec: ListenerSpec, memory: CountingMemory | undefined): Promise<ListenResult> {
    const pool = this.#pools.acquire(spec.pool, memory?.endpoints)
    const counters = memory?.listener ?? new ListenerCounters()
    try {
      const open = spec.protocol === 'TCP' ? openTcpListener : openUdpListener
      const assignment = { pool, allowedSources: spec.allowedSources }
      const listener = await open(spec.address, assignment, counters, this.#parts, spec.fd)
      if (this.#ending.signal.aborted) {
        await listener.stop()
        throw new Error('the relay has stopped')
      }
      this.#parts.descriptors.take(1)
      this.#heldById.set(spec.id, { spec, listener, pool })
      return { ok: true, address: listener.address, fd: listener.fd }
    } catch (error) {
      this.#pools.release(pool)
      return listenFailure(spec, error)
    }
  }

  async #stop({ spec: { protocol }, listener, pool }: Held, isGentle = false): Promise<void> {
    this.#pools.release(pool)
    this.#draining.set(listener, protocol)
    void listener.finished.then(() => {
      this.#draining.delete(listener)
      this.#past.add({ protocol, counters: listener.counters })
    })
    await listener.stop(isGentle)
    this.#parts.descriptors.giveBack(1)
  }

  *#counted(): Iterable<Counted> {
    for (const { spec, listener } of this.#heldById.values())
      yield { protocol: spec.protocol, counters: listener.counters }
    for (const [{ counters }, protocol] of this.#draining) yield { protocol, counters }
  }
}

export function withDefaults(settings: Partial<RelaySettings>): RelaySettings {
  return {
    dialTimeoutsMs: [250, 500, 1000, 2000],
    // As kube-proxy sets it for the kernel modes (`conntrack.tcpCloseWaitTimeout`).
    halfCloseTimeoutMs: 60 * 60 * 1000,
    udpIdleMs: usualUdpIdleMs,
    maxUdpFlowsPerListener: 4096,
    drainTimeoutMs: undefined,
    ...noReports,
    shutdownGraceMs: 0,
    stuckAfterMs: 10_000,
    maxDescriptors: openFilesLimit(),
    ...settings,
  }
}
