/**
 * Sockets that are connected to an endpoint which has ended. A connected datagram socket asks no hook again, so it would lose
 * what it sends for ever. It is told, and connects anew. Sockets of connections are told only where somebody wants that.
 */
import type { Logger } from '../../core/logger.ts'
import type { Bpf, BpfProgram } from '../../dataplane/ebpf/bpf.ts'
import type { ProgramImage } from '../../dataplane/ebpf/program-image.ts'
import { SocketsError } from '../../dataplane/sock-diag/sockets.ts'
import type { Sockets } from '../../dataplane/sock-diag/sockets.ts'
import { hostPort } from '../../net/ip.ts'
import type { SocketMaps } from './found-tables.ts'
import { decodeEndpoint, decodeEndpointStats, decodeStaleReports, layout, layoutVersion } from './layout.ts'
import type { SocketProtocol, StaleReport } from './layout.ts'
import type { SocketSettings } from './settings.ts'

export interface StaleSocketsOptions {
  /** It goes over all sockets that have a flow, and reports those whose endpoint has ended. */
  readonly iterator: ProgramImage
  readonly sockets: Pick<Sockets, 'destroy'>
  readonly onDestroyed: (protocol: SocketProtocol, count: number) => void
}

interface Surroundings {
  readonly bpf: Bpf
  readonly settings: Pick<SocketSettings, 'endsTcp'>
  readonly log: Logger
}

export interface FoundStale {
  /** Those that somebody else could serve. */
  readonly stale: readonly StaleReport[]
  /** The map had no room for them. */
  readonly areMore: boolean
}

export class StaleSockets implements Disposable {
  readonly #options: StaleSocketsOptions
  readonly #bpf: Bpf
  readonly #log: Logger
  /** Sockets of connections are told, too. */
  #endsTcp: boolean
  #program: BpfProgram | undefined
  #isDue = false
  /** There may be sockets that were connected under tables of another layout, and are not counted in these. */
  #hasInherited = false
  /** Services without anybody who could take over: their sockets stay until somebody can. */
  readonly #waiting = new Set<number>()

  constructor(options: StaleSocketsOptions, { bpf, settings, log }: Surroundings) {
    this.#options = options
    this.#bpf = bpf
    this.#log = log
    this.#endsTcp = settings.endsTcp
  }

  get isDue(): boolean {
    return this.#isDue
  }

  /** After the endpoints with these numbers have ended, and before their numbers are used again. */
  noteEnded(ids: Iterable<number>, { endpoint_stats: stats }: SocketMaps): void {
    for (const id of ids) {
      const { udpConnects, picked } = decodeEndpointStats(stats.bytes, id * layout.endpointStats.size)
      if (udpConnects > 0 || (this.#endsTcp && picked > 0) || this.#hasInherited) this.#isDue = true
    }
  }

  /** Endpoints may have ended of which nobody here was told: those before this process, or of a sync that failed. */
  noteUnknown(): void {
    this.#isDue = true
  }

  noteInherited(): void {
    this.#hasInherited = true
  }

  /** Somebody may serve there now. */
  noteChanged(index: number): void {
    if (this.#waiting.delete(index)) this.#isDue = true
  }

  /** The maps are others now. */
  forgetProgram(): void {
    this.#program?.[Symbol.dispose]()
    this.#program = undefined
  }

  /** While nobody writes the tables. `isServed`: some endpoint of this service serves, whoever may use it. */
  async find(maps: SocketMaps, isServed: (index: number) => boolean): Promise<FoundStale> {
    this.#program ??= await this.#bpf.loadProgram(this.#options.iterator, new Map(Object.entries(maps)))
    await maps.stale.fill(0, new Uint8Array(8))
    await this.#bpf.iterate(this.#program, maps.connected)
    this.#isDue = false
    const reports = decodeStaleReports(maps.stale.bytes)
    let living: ReadonlySet<string> | undefined
    const stale = reports.filter(({ protocol, target: { service }, layout: madeUnder, ip, port }) => {
      if (protocol === 'TCP' && !this.#endsTcp) return false
      if (madeUnder !== layoutVersion) {
        this.#hasInherited = true
        // Its numbers are of other tables. Its endpoint is not.
        return !(living ??= livingAddresses(maps)).has(hostPort(ip, port))
      }
      if (isServed(service)) return true
      this.#waiting.add(service)
      return false
    })
    const count = Buffer.from(maps.stale.bytes.subarray(0, 8)).readBigUInt64LE()
    return { stale, areMore: count > BigInt(reports.length) }
  }

  /** How many were told. `unsupported`: this kernel never will. Whatever else fails is tried again. */
  async destroy(stale: readonly StaleReport[], signal: AbortSignal): Promise<number | 'unsupported'> {
    let told = 0
    try {
      for (const protocol of ['UDP', 'TCP'] as const) {
        const ofProtocol = stale.filter((report) => report.protocol === protocol)
        if (ofProtocol.length === 0) continue
        told += await this.#destroyAll(protocol, ofProtocol, signal)
      }
      return told
    } catch (error) {
      if (signal.aborted) throw error
      this.#isDue = !isHopeless(error)
      this.#log.warn('cannot tell sockets that their endpoint has ended', { error })
      return isHopeless(error) ? 'unsupported' : told
    }
  }

  async #destroyAll(protocol: SocketProtocol, stale: readonly StaleReport[], signal: AbortSignal): Promise<number> {
    const { sockets, onDestroyed } = this.#options
    try {
      const { destroyed, unreached } = await sockets.destroy(stale, signal)
      onDestroyed(protocol, destroyed)
      if (unreached > 0)
        this.#log.warn('sockets that lead to an endpoint which has ended are out of reach', { unreached, protocol })
      return destroyed
    } catch (error) {
      if (protocol !== 'TCP' || !isHopeless(error)) throw error
      // Another module of the kernel knows these. Datagram sockets can be told all the same.
      this.#endsTcp = false
      this.#log.warn('TCP connections to endpoints that have ended drain: this kernel cannot destroy them', { error })
      return 0
    }
  }

  [Symbol.dispose](): void {
    this.forgetProgram()
  }
}

function isHopeless(error: unknown): boolean {
  return error instanceof SocketsError && error.reason === 'unsupported'
}

function livingAddresses({ endpoints: { bytes } }: SocketMaps): ReadonlySet<string> {
  const living = new Set<string>()
  for (let at = 0; at < bytes.length; at += layout.endpoint.size) {
    const { ip, port, generation } = decodeEndpoint(bytes, at)
    if (generation !== 0) living.add(hostPort(ip, port))
  }
  return living
}
