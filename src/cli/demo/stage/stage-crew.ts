/**
 * Plays the parts of a cluster that the demo does not have: a kubelet that runs the servers of replicas and tells whether
 * they are ready, and a controller that makes as many as a Service shall have. Both only follow objects, so kubectl moves
 * them as the buttons do.
 */
import type { Clock } from '../../../core/clock.ts'
import type { ReplicaServers } from '../replica-servers.ts'
import { sampleServices } from '../sample-application.ts'
import type { SampleService } from '../sample-application.ts'
import type { StageReplica, StageScene } from './stage-objects.ts'
import { hasFailedItsProbe, isReadyAgain } from './stage-writes.ts'
import type { StageWrites } from './stage-writes.ts'

export const mostReplicas = 6

/** How long things take, so that they can be seen. */
export interface StagePace {
  /** Until a kubelet notices that a server has died. */
  readonly noticeMs: number
  /** From the order to end until the end. */
  readonly drainMs: number
  /** A server outlives its slice, because the proxy hears of it a moment later. */
  readonly outliveMs: number
}

export const usualPace: StagePace = { noticeMs: 4_000, drainMs: 8_000, outliveMs: 1_000 }

export interface StageCrewOptions {
  readonly servers: ReplicaServers
  readonly writes: StageWrites
  readonly clock: Clock
  readonly pace: StagePace
}

export class StageCrew {
  readonly #options: StageCrewOptions
  /** When something is due, by what it is. */
  readonly #dueMs = new Map<string, number>()

  constructor(options: StageCrewOptions) {
    this.#options = options
  }

  /** Does what is to be done now. Returns in how many milliseconds something else will be; undefined: when objects change. */
  async work(scene: StageScene, signal: AbortSignal): Promise<number | undefined> {
    const waiting = new Set<string>()
    for (const replica of scene.replicas.values()) await this.#keep(replica, waiting, signal)
    for (const name of this.#options.servers.names)
      if (!scene.replicas.has(name) && this.#isDue(`outlive ${name}`, this.#options.pace.outliveMs, waiting))
        await this.#options.servers.stop(name)
    for (const { name, scale } of scene.services.values())
      if (scale !== undefined) await this.#scale(name, scale, scene, signal)
    return this.#nextDue(waiting)
  }

  async #keep(replica: StageReplica, waiting: Set<string>, signal: AbortSignal): Promise<void> {
    const { servers, writes, pace } = this.#options
    const { name, port, isStopped, isReady, isTerminating } = replica
    if (isStopped && servers.isRunning(name)) await servers.stop(name)
    if (isTerminating) {
      if (this.#isDue(`drain ${name}`, pace.drainMs, waiting)) await writes.removeReplica(name, signal)
    } else if (isStopped) {
      if (isReady && this.#isDue(`notice ${name}`, pace.noticeMs, waiting))
        await writes.setConditions(name, hasFailedItsProbe, port, signal)
    } else if (!servers.isRunning(name)) {
      const opened = await servers.start(name, protocolOf(replica.service), port)
      await writes.setConditions(name, isReadyAgain, opened, signal)
    }
  }

  async #scale(service: string, order: string, scene: StageScene, signal: AbortSignal): Promise<void> {
    const { servers, writes } = this.#options
    const wanted = wantedReplicas(order)
    const sample = sampleServices.find(({ name }) => name === service)
    if (wanted !== undefined && sample !== undefined) {
      const present = [...scene.replicas.values()].filter((one) => one.service === service)
      const staying = present.filter(({ isTerminating }) => !isTerminating)
      for (const { name } of staying.slice(wanted).reverse()) await writes.removeReplica(name, signal)
      const taken = new Set([...present.map(({ name }) => name), ...servers.names])
      for (const name of freeNames(sample, taken, wanted - staying.length))
        await writes.addReplica(sample, name, await servers.start(name, sample.protocol), signal)
    }
    await writes.orderScale(service, null, signal)
  }

  /** The first question starts the time; once due, the next one would start it anew. */
  #isDue(what: string, afterMs: number, waiting: Set<string>): boolean {
    const now = this.#options.clock.monotonic()
    const dueMs = this.#dueMs.get(what) ?? now + afterMs
    if (dueMs <= now) {
      this.#dueMs.delete(what)
      return true
    }
    this.#dueMs.set(what, dueMs)
    waiting.add(what)
    return false
  }

  /** What nobody waits for any more is forgotten. */
  #nextDue(waiting: ReadonlySet<string>): number | undefined {
    for (const what of this.#dueMs.keys()) if (!waiting.has(what)) this.#dueMs.delete(what)
    if (this.#dueMs.size === 0) return undefined
    return Math.max(0, Math.min(...this.#dueMs.values()) - this.#options.clock.monotonic())
  }
}

function protocolOf(service: string): 'TCP' | 'UDP' {
  return sampleServices.find(({ name }) => name === service)?.protocol ?? 'TCP'
}

/** Undefined: not a number. */
function wantedReplicas(order: string): number | undefined {
  return /^\d{1,9}$/.test(order) ? Math.min(Number(order), mostReplicas) : undefined
}

function freeNames({ name }: SampleService, taken: ReadonlySet<string>, count: number): readonly string[] {
  const names: string[] = []
  for (let number = 1; names.length < count; number++)
    if (!taken.has(`${name}-${number}`)) names.push(`${name}-${number}`)
  return names
}
