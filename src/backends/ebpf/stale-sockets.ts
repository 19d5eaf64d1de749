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
import {
  bufferOf,
  decodeEndpoint,
  decodeEndpointStats,
  decodeStaleReports,
  encodeStaleSearch,
  layout,
  layoutVersion,
} from './layout.ts'
import type { CookiePart, SocketProtocol, StaleReport } from './layout.ts'
import { OutOfReach } from './out-of-reach.ts'
import type { SocketSettings } from './settings.ts'
import type { WhoServes } from './who-serves.ts'

export interface StaleSocketsOptions {
  /** It goes over all sockets that have a flow, and reports those whose endpoint has ended. */
  readonly iterator: ProgramImage
  readonly sockets: Pick<Sockets, 'destroy'>
  readonly onDestroyed: (protocol: SocketProtocol, count: number) => void
}

interface Surroundings {
  readonly bpf: Bpf
  readonly settings: Pick<SocketSettings, 'endsTcp' | 'entersPods' | 'hostNetns'>
  readonly log: Logger
}

/** Keeps others from writing the tables meanwhile. Undefined: there are none, or they are somebody else's. */
export type WithTables = <T>(look: (maps: SocketMaps, services: WhoServes) => Promise<T>) => Promise<T | undefined>

export class StaleSockets implements Disposable {
  readonly #options: StaleSocketsOptions
  readonly #bpf: Bpf
  readonly #log: Logger
  /** Those whose sockets are told. */
  readonly #protocols: Set<SocketProtocol>
  readonly #outOfReach = new OutOfReach()
  readonly #hostNetns: bigint
  readonly #entersPods: boolean
  /** Sockets of pods get endpoints as long as they can be told. */
  #tellsPods: boolean
  /** Network namespaces with a socket that was out of reach twice. */
  readonly #closedNamespaces = new Set<bigint>()
  #hasToldOfConnections = false
  #program: BpfProgram | undefined
  #isDue = false
  /** Addresses of endpoints that have sockets of another layout, which these tables do not count. */
  #inherited: 'unknown' | ReadonlySet<string> = new Set()
  /** Endpoints whose sockets were counted only in a map that is gone. */
  readonly #uncounted = new Set<number>()
  /** Services without anybody who could take over: their sockets stay until somebody can. */
  readonly #waiting = new Set<number>()

  constructor(options: StaleSocketsOptions, { bpf, settings, log }: Surroundings) {
    this.#options = options
    this.#bpf = bpf
    this.#log = log
    this.#protocols = new Set(settings.endsTcp ? ['UDP', 'TCP'] : ['UDP'])
    this.#hostNetns = settings.hostNetns
    this.#entersPods = this.#tellsPods = settings.entersPods
  }

  get isDue(): boolean {
    return this.#isDue
  }

  /** Sockets of this protocol are told. Not for ever: the kernel may turn out to be unable to do it. */
  tells(protocol: SocketProtocol): boolean {
    return this.#protocols.has(protocol)
  }

  /** Connected datagram sockets of pods are told. Not for ever: their network namespaces may turn out to be out of reach. */
  get tellsPods(): boolean {
    return this.#tellsPods
  }

  /** After the endpoints with these numbers have ended, and before their numbers are used again. */
  noteEnded(ids: Iterable<number>, maps: SocketMaps): void {
    for (const id of ids)
      if (this.#uncounted.delete(id) || this.#hasSockets(maps.endpoint_stats.bytes, id) || this.#hasInherited(id, maps))
        this.#isDue = true
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

  /** There were tables of another layout. */
  noteInherited(): void {
    this.#inherited = 'unknown'
  }

  /** What was counted is lost. */
  noteLostCounts({ endpoints: { bytes } }: SocketMaps): void {
    const { generation, size } = layout.endpoint
    const records = bufferOf(bytes)
    for (let id = 0; (id + 1) * size <= records.length; id++)
      if (records.readUInt32LE(id * size + generation) !== 0) this.#uncounted.add(id)
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

  /** Finds and tells all of them. What fails is due again. */
  async endAll(withTables: WithTables, signal: AbortSignal): Promise<void> {
    const inherited = new Set<string>()
    this.#isDue = false
    try {
      const parts: CookiePart[] = [everySocket]
      for (let part; (part = parts.pop()) !== undefined;) {
        const asked = part
        const found = await withTables(async (maps, services) => {
          const reports = await this.#search(maps, asked)
          return reports === undefined ? halvesOf(asked) : this.#judge(reports, services, inherited)
        })
        if (found === undefined) {
          this.#isDue = true
          return
        }
        if ('halves' in found) parts.push(...found.halves)
        else await this.destroy(found.stale, signal)
      }
      this.#inherited = inherited
      this.#outOfReach.endLook()
    } catch (error) {
      this.#isDue = true
      throw error
    }
  }

  /** What this kernel will never do is not tried again. Whatever else fails is. */
  async destroy(stale: readonly StaleReport[], signal: AbortSignal): Promise<void> {
    // The kernel may know how to destroy those of one protocol, and not those of the other.
    for (const protocol of this.#protocols) {
      const ofProtocol = stale.filter((report) => report.protocol === protocol)
      if (ofProtocol.length === 0) continue
      try {
        await this.#destroyAll(protocol, ofProtocol, signal)
      } catch (error) {
        if (signal.aborted) throw error
        const isHopeless = error instanceof SocketsError && error.reason === 'unsupported'
        if (isHopeless) this.#protocols.delete(protocol)
        else this.#isDue = true
        const what = isHopeless ? untold[protocol] : 'cannot tell sockets that their endpoint has ended'
        this.#log.warn(what, { protocol, error })
      }
    }
  }

  async #destroyAll(protocol: SocketProtocol, stale: readonly StaleReport[], signal: AbortSignal): Promise<void> {
    const { sockets, onDestroyed } = this.#options
    const { destroyed, unreached } = await sockets.destroy(stale, signal)
    onDestroyed(protocol, destroyed)
    if (unreached.length === 0) return
    if (protocol === 'UDP') this.#noteUnreached(reportsOf(stale, unreached))
    else if (!this.#hasToldOfConnections) {
      this.#hasToldOfConnections = true
      this.#log.warn('TCP connections of pods to endpoints that have ended drain', { because: howToReach })
    }
  }

  /** Nobody else would ever tell them, so what is seen twice must not go on. */
  #noteUnreached(reports: readonly StaleReport[]): void {
    const again = this.#outOfReach.note(reports)
    for (const { netns } of again) this.#closedNamespaces.add(netns)
    if (again.length < reports.length) this.#isDue = true
    if (again.length > 0 && this.#tellsPods) {
      this.#tellsPods = false
      this.#log.warn('connected UDP of pods is left to nftables from now on', { because: howToReach })
    }
  }

  /** Undefined: there are too many for one report. */
  async #search(maps: SocketMaps, part: CookiePart): Promise<readonly StaleReport[] | undefined> {
    this.#program ??= await this.#bpf.loadProgram(this.#options.iterator, new Map(Object.entries(maps)))
    await maps.stale.fill(0, encodeStaleSearch(part))
    await this.#bpf.iterate(this.#program, maps.connected)
    return decodeStaleReports(maps.stale.bytes)
  }

  /**
   * A datagram socket is told where somebody else serves, and where nobody could tell it later. A connection is told only if its endpoint
   * has left the Service: one whose Service was renamed, or left to the packets, works as before.
   */
  #judge(
    reports: readonly StaleReport[],
    services: WhoServes,
    inherited: Set<string>,
  ): { stale: readonly StaleReport[] } {
    const told = reports.filter((report) => this.#protocols.has(report.protocol) && this.#isWithinReach(report))
    const left = services.left(told.filter((report) => report.protocol === 'TCP' || isInherited(report)))
    const stale = told.filter((report) => {
      const { protocol, target, ip, port } = report
      if (isInherited(report)) {
        inherited.add(hostPort(ip, port))
        return left.has(report)
      }
      if (protocol === 'TCP' && !left.has(report)) return false
      if (services.isServed(target.service)) return true
      this.#waiting.add(target.service)
      return false
    })
    return { stale }
  }

  /** To look for the others in every network namespace would be in vain, each time. */
  #isWithinReach({ netns }: StaleReport): boolean {
    return netns === this.#hostNetns || (this.#entersPods && !this.#closedNamespaces.has(netns))
  }

  #hasInherited(id: number, { endpoints: { bytes } }: SocketMaps): boolean {
    if (this.#inherited === 'unknown') return true
    if (this.#inherited.size === 0) return false
    const { ip, port } = decodeEndpoint(bytes, id * layout.endpoint.size)
    return this.#inherited.has(hostPort(ip, port))
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

const howToReach =
  'sockets of theirs cannot be ended, because their network namespaces are out of reach: Fairlead needs CAP_SYS_ADMIN, leave to call setns (seccomp, RestrictNamespaces=), and /run/netns of the host, or its processes (hostPID) with CAP_SYS_PTRACE'

function reportsOf(reports: readonly StaleReport[], cookies: readonly bigint[]): readonly StaleReport[] {
  const wanted = new Set(cookies)
  return reports.filter(({ cookie }) => wanted.has(cookie))
}

const everySocket: CookiePart = { mask: 0n, bits: 0n }

/** By one more bit of the cookie, which is a number that counts. */
function halvesOf({ mask, bits }: CookiePart): { readonly halves: readonly CookiePart[] } {
  const more = mask + 1n
  return { halves: [bits, bits | more].map((half) => ({ mask: mask | more, bits: half })) }
}

/** Its numbers are of other tables. Its endpoint is not. */
function isInherited({ layout: madeUnder }: StaleReport): boolean {
  return madeUnder !== layoutVersion
}
