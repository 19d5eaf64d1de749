/**
 * Sockets that are connected to an endpoint which has ended. A connected datagram socket asks no hook again, so it would lose
 * what it sends for ever. It is told, and connects anew. Sockets of connections are told only where somebody wants that.
 */
import type { Logger } from '../../core/logger.ts'
import type { Bpf, BpfMap, BpfProgram } from '../../dataplane/ebpf/bpf.ts'
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

export interface Told {
  readonly sockets: number
  /** Sockets of these will not be told from now on: this kernel cannot do it. */
  readonly givenUp: readonly SocketProtocol[]
}

export class StaleSockets implements Disposable {
  readonly #options: StaleSocketsOptions
  readonly #bpf: Bpf
  readonly #log: Logger
  /** Those whose sockets are told. */
  readonly #protocols: Set<SocketProtocol>
  #program: BpfProgram | undefined
  #isDue = false
  /** There may be sockets that are not counted in these tables: of another layout, or of a map that is gone. */
  #hasInherited = false
  /** Endpoints whose sockets were counted only in a map that has been replaced since. */
  readonly #uncounted = new Set<number>()
  /** Services without anybody who could take over: their sockets stay until somebody can. */
  readonly #waiting = new Set<number>()

  constructor(options: StaleSocketsOptions, { bpf, settings, log }: Surroundings) {
    this.#options = options
    this.#bpf = bpf
    this.#log = log
    this.#protocols = new Set(settings.endsTcp ? ['UDP', 'TCP'] : ['UDP'])
  }

  get isDue(): boolean {
    return this.#isDue
  }

  /** After the endpoints with these numbers have ended, and before their numbers are used again. */
  noteEnded(ids: Iterable<number>, { endpoint_stats: stats }: SocketMaps): void {
    for (const id of ids)
      if (this.#uncounted.delete(id) || this.#hasSockets(stats.bytes, id) || this.#hasInherited) this.#isDue = true
  }

  /** Sockets connected while larger maps were made, and are counted only in the map of before, which is about to go. */
  noteReplaced({ bytes: before }: BpfMap, { endpoint_stats: { bytes: now } }: SocketMaps): void {
    for (let id = 0; (id + 1) * layout.endpointStats.size <= before.length; id++)
      if (this.#hasSockets(before, id) && !this.#hasSockets(now, id)) this.#uncounted.add(id)
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
      if (!this.#protocols.has(protocol)) return false
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

  /** What this kernel will never do is not tried again. Whatever else fails is. */
  async destroy(stale: readonly StaleReport[], signal: AbortSignal): Promise<Told> {
    let sockets = 0
    const givenUp: SocketProtocol[] = []
    // The kernel may know how to destroy those of one protocol, and not those of the other.
    for (const protocol of this.#protocols) {
      const ofProtocol = stale.filter((report) => report.protocol === protocol)
      if (ofProtocol.length === 0) continue
      try {
        sockets += await this.#destroyAll(protocol, ofProtocol, signal)
      } catch (error) {
        if (signal.aborted) throw error
        const isHopeless = error instanceof SocketsError && error.reason === 'unsupported'
        if (isHopeless) {
          this.#protocols.delete(protocol)
          givenUp.push(protocol)
        } else this.#isDue = true
        const what = isHopeless ? untold[protocol] : 'cannot tell sockets that their endpoint has ended'
        this.#log.warn(what, { protocol, error })
      }
    }
    return { sockets, givenUp }
  }

  async #destroyAll(protocol: SocketProtocol, stale: readonly StaleReport[], signal: AbortSignal): Promise<number> {
    const { sockets, onDestroyed } = this.#options
    const { destroyed, unreached } = await sockets.destroy(stale, signal)
    onDestroyed(protocol, destroyed)
    if (unreached > 0)
      this.#log.warn('sockets that lead to an endpoint which has ended are out of reach', { unreached, protocol })
    return destroyed
  }

  /** Sockets that would have to be told. */
  #hasSockets(stats: Uint8Array, id: number): boolean {
    const { udpConnects, picked } = decodeEndpointStats(stats, id * layout.endpointStats.size)
    return (this.#protocols.has('UDP') && udpConnects > 0) || (this.#protocols.has('TCP') && picked > 0)
  }

  [Symbol.dispose](): void {
    this.forgetProgram()
  }
}

const untold: Readonly<Record<SocketProtocol, string>> = {
  UDP: 'connected datagram sockets are left to the packets: this kernel cannot destroy them',
  TCP: 'TCP connections to endpoints that have ended drain: this kernel cannot destroy them',
}

function livingAddresses({ endpoints: { bytes } }: SocketMaps): ReadonlySet<string> {
  const living = new Set<string>()
  for (let at = 0; at < bytes.length; at += layout.endpoint.size) {
    const { ip, port, generation } = decodeEndpoint(bytes, at)
    if (generation !== 0) living.add(hostPort(ip, port))
  }
  return living
}
