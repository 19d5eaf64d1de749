/**
 * The addresses of Services on an interface of this machine. An address stays as long as one route needs it. It is added and
 * removed beside the syncs: Windows takes seconds until an address can be used, and one that is stuck holds up nobody else.
 */
import { setMaxListeners } from 'node:events'
import { thereOrMissing } from '../../../core/inspect-pieces.ts'
import type { Look } from '../../../core/inspect-pieces.ts'
import type { Clock } from '../../../core/clock.ts'
import type { Logger } from '../../../core/logger.ts'
import type { RouteKey } from '../../../core/route.ts'
import type { Span } from '../../../core/trace.ts'
import type { OwnedObjects } from '../../../dataplane/owned-objects/owned-objects.ts'
import { addAddress, deleteAddress } from '../../../dataplane/netsh/command-lines.ts'
import { NetshError } from '../../../dataplane/netsh/netsh.ts'
import type { Netsh } from '../../../dataplane/netsh/netsh.ts'
import { familyOf } from '../../../net/ip.ts'
import type { Family } from '../../../net/ip.ts'
import { addressPieces } from './pieces.ts'
import { renderAddress } from './render.ts'
import { ownedAddresses, ownedLine } from './owned-lines.ts'

export interface ServiceAddressesOptions {
  readonly netsh: Netsh
  /** Addresses outlive the process, and nothing in Windows tells whose they are. */
  readonly owned: OwnedObjects
  readonly family: Family
  /** Addresses of this machine, as of now. */
  readonly localIps: () => readonly string[]
  readonly clock: Clock
  readonly log: Logger
  /** Of the sync that wants the address, or wants it no more. */
  readonly spanOf: (ip: string) => Span
  /** An address can be used from now on. */
  readonly onReady: (ip: string) => void
}

/** How long a sync waits for the addresses that it asked for. */
const patienceMs = 1_000
/** Between attempts, doubled each time. */
const retryMs = { first: 4_000, most: 60_000 }

interface Failure {
  readonly reason: string
  readonly times: number
  readonly retryAtMs: number
}

/** What could not be removed. */
interface Leftover {
  readonly ips: readonly string[]
  /** Of the first of them. */
  readonly reason: string
}

export class ServiceAddresses {
  readonly #options: ServiceAddressesOptions
  readonly #ownersByIp = new Map<string, Set<RouteKey>>()
  readonly #ipsByOwner = new Map<RouteKey, readonly string[]>()
  readonly #ready = new Set<string>()
  /** To be looked at: they may not be as they shall be. */
  readonly #unsettled = new Set<string>()
  readonly #failuresByIp = new Map<string, Failure>()
  readonly #tasksByIp = new Map<string, Promise<void>>()
  readonly #ending = new AbortController()
  /** A sync waits, and will tell what fails. */
  #isAwaited = false
  /** Of the ready ones: those that the machine named as its own when it was last asked. */
  #seen: ReadonlySet<string> = new Set()

  constructor(options: ServiceAddressesOptions) {
    this.#options = options
    // Everything that waits for an address listens to this signal, and Node would report a leak.
    setMaxListeners(0, this.#ending.signal)
  }

  get owners(): Iterable<RouteKey> {
    return this.#ipsByOwner.keys()
  }

  ownersOf(ip: string): Iterable<RouteKey> {
    return this.#ownersByIp.get(ip) ?? []
  }

  isReady(ip: string): boolean {
    return this.#ready.has(ip)
  }

  isOurs(ip: string): boolean {
    return this.#options.owned.has(this.#line(ip))
  }

  /** Why it could not be added, when that was last tried. */
  failureOf(ip: string): string | undefined {
    return this.#failuresByIp.get(ip)?.reason
  }

  /** From now on the route needs these addresses and no others. Nothing happens before `pursue`. */
  assign(key: RouteKey, ips: readonly string[]): void {
    const before = this.#ipsByOwner.get(key) ?? []
    for (const ip of before) if (!ips.includes(ip)) this.#release(key, ip)
    for (const ip of ips) if (!before.includes(ip)) this.#claim(key, ip)
    if (ips.length === 0) this.#ipsByOwner.delete(key)
    else this.#ipsByOwner.set(key, ips)
  }

  /** Begins what is to be done. Resolves when it is done or has failed, and at the latest after a moment. */
  async pursue(signal: AbortSignal): Promise<void> {
    // Nobody waits again for one that was stuck or failed before.
    const isNew = (ip: string) => !this.#tasksByIp.has(ip) && !this.#failuresByIp.has(ip)
    const newOnes = new Set([...this.#unsettled].filter(isNew))
    const begun = [...this.#unsettled].map((ip) => ({ ip, task: this.#begin(ip) }))
    const awaited = begun.filter(({ ip }) => newOnes.has(ip)).map(({ task }) => task)
    if (awaited.length > 0 && !signal.aborted) await this.#waitFor(awaited, signal)
    signal.throwIfAborted()
  }

  /** Compares what the route needs with what is there. */
  lookFor(key: RouteKey): Look {
    const ips = this.#ipsByOwner.get(key) ?? []
    const pieces = addressPieces(ips, this.#options.netsh.interfaceName)
    return {
      pieces,
      compare: async (signal) => {
        const isThere = await this.#whatIsThere(signal)
        return pieces.map((piece, index) => thereOrMissing(piece, isThere(ips[index] ?? '')))
      },
    }
  }

  /** All that any route needs, as commands. */
  rendered(): string {
    const { interfaceName } = this.#options.netsh
    return [...this.#ownersByIp.keys()]
      .sort()
      .map((ip) => `${renderAddress(interfaceName, ip)}\n`)
      .join('')
  }

  /** Looks what is there, also what an earlier process left. */
  async look(signal: AbortSignal): Promise<void> {
    const { owned, netsh } = this.#options
    const known = new Set(this.#ready)
    const isThere = await this.#whatIsThere(signal)
    for (const ip of this.#ownersByIp.keys())
      if (isThere(ip)) this.#ready.add(ip)
      else if (known.has(ip)) this.#lose(ip)
    for (const ip of ownedAddresses(owned, netsh.interfaceName))
      if (familyOf(ip) === this.#options.family && !this.#ownersByIp.has(ip)) this.#unsettled.add(ip)
  }

  /** Tells of one that somebody else removed. */
  async findLost(signal: AbortSignal): Promise<string | undefined> {
    const known = [...this.#ready]
    const isThere = await this.#whatIsThere(signal)
    const lost = known.find((ip) => this.#ready.has(ip) && this.#ownersByIp.has(ip) && !isThere(ip))
    return lost && `the interface "${this.#options.netsh.interfaceName}" has lost the address ${lost}`
  }

  /** Whether the machine no longer names one that it did name. Costs little; not every machine names them. */
  mayHaveLostOne(): boolean {
    const local = new Set(this.#options.localIps())
    const isOneGone = [...this.#seen].some((ip) => this.#ready.has(ip) && !local.has(ip))
    this.#seen = new Set([...this.#ready].filter((ip) => local.has(ip)))
    return isOneGone
  }

  retryFailed(): void {
    const now = this.#options.clock.monotonic()
    for (const [ip, { retryAtMs }] of this.#failuresByIp) if (retryAtMs <= now) void this.#begin(ip)
  }

  /** For the end. What the signal stops is left, too. */
  async removeAll(signal: AbortSignal): Promise<Leftover> {
    const { netsh, owned, family } = this.#options
    setMaxListeners(0, signal)
    this.#ending.abort(new Error('the userspace mode ends'))
    await Promise.all(this.#tasksByIp.values())
    const [gone, left]: [string[], string[]] = [[], []]
    let reason = ''
    const remove = async (ip: string) => {
      try {
        await netsh.remove(ip, signal)
        gone.push(ip)
      } catch (error) {
        left.push(ip)
        reason ||= messageOf(error)
      }
    }
    const ours = ownedAddresses(owned, netsh.interfaceName).filter((ip) => familyOf(ip) === family)
    await Promise.all(ours.map(remove))
    // At once, because each write waits for the disk. A process that is killed before leaves lines about nothing, which harm nobody.
    await owned.remove(gone.map((ip) => this.#line(ip)))
    return { ips: left, reason }
  }

  #claim(key: RouteKey, ip: string): void {
    const owners = this.#ownersByIp.get(ip)
    if (owners === undefined) {
      this.#ownersByIp.set(ip, new Set([key]))
      this.#unsettled.add(ip)
    } else owners.add(key)
  }

  #release(key: RouteKey, ip: string): void {
    const owners = this.#ownersByIp.get(ip)
    owners?.delete(key)
    if (owners?.size !== 0) return
    this.#ownersByIp.delete(ip)
    this.#unsettled.add(ip)
  }

  #lose(ip: string): void {
    this.#ready.delete(ip)
    this.#unsettled.add(ip)
  }

  async #whatIsThere(signal: AbortSignal): Promise<(ip: string) => boolean> {
    const { netsh, family, localIps } = this.#options
    const listed = new Set(await netsh.list(family, signal))
    // Another interface may have it: that of the node, for an external IP.
    const local = new Set(localIps())
    return (ip) => listed.has(ip) || local.has(ip)
  }

  /** One task for each address, whatever is asked for meanwhile. It never rejects. */
  #begin(ip: string): Promise<void> {
    const running = this.#tasksByIp.get(ip)
    if (running !== undefined) return running
    const task = this.#settle(ip).finally(() => this.#tasksByIp.delete(ip))
    this.#tasksByIp.set(ip, task)
    return task
  }

  async #settle(ip: string): Promise<void> {
    try {
      while (!this.#ending.signal.aborted && !this.#isSettled(ip))
        await (this.#ownersByIp.has(ip) ? this.#add(ip) : this.#remove(ip))
      this.#failuresByIp.delete(ip)
      this.#unsettled.delete(ip)
    } catch (error) {
      if (!this.#ending.signal.aborted) this.#noteFailure(ip, error)
    }
  }

  #isSettled(ip: string): boolean {
    return this.#ownersByIp.has(ip) ? this.#ready.has(ip) : !this.#ready.has(ip) && !this.isOurs(ip)
  }

  async #add(ip: string): Promise<void> {
    const { netsh, owned } = this.#options
    const line = this.#line(ip)
    const wasOurs = owned.has(line)
    // Before it is there: a process that is killed in between must leave nothing that nobody knows.
    if (!wasOurs) await owned.add([line])
    const outcome = await this.#traced(ip, addAddress(netsh.interfaceName, ip), () =>
      netsh.add(ip, this.#ending.signal),
    )
    if (outcome === 'was-there') this.#options.spanOf(ip).set({ 'ip.existed': true })
    if (outcome === 'was-there' && !wasOurs) await owned.remove([line])
    this.#ready.add(ip)
    if (this.#ownersByIp.has(ip)) this.#options.onReady(ip)
  }

  async #remove(ip: string): Promise<void> {
    const { netsh, owned } = this.#options
    this.#ready.delete(ip)
    if (!this.isOurs(ip)) return
    await this.#traced(ip, deleteAddress(netsh.interfaceName, ip), () => netsh.remove(ip, this.#ending.signal))
    await owned.remove([this.#line(ip)])
  }

  /** A span lasts until the address can be used. netsh has one exit code for every failure, and what is there already is one. */
  #traced<T>(ip: string, argv: readonly string[], run: () => Promise<T>): Promise<T> {
    const { clock, spanOf } = this.#options
    const startedAt = clock.monotonic()
    const span = spanOf(ip).child('netsh', { argv: ['netsh', ...argv] })
    const end = (exitCode: number | undefined, error?: unknown) => {
      span.set({ exit_code: exitCode, elapsed_ms: clock.monotonic() - startedAt })
      span.end(error)
    }
    const running = run()
    // Beside whoever waits, who must not wait longer because somebody looks.
    running.then(
      (outcome) => end(outcome === 'was-there' ? 1 : 0),
      (error: unknown) => end(error instanceof NetshError ? error.exitCode : undefined, error),
    )
    return running
  }

  #noteFailure(ip: string, error: unknown): void {
    const { clock, log, netsh } = this.#options
    const times = (this.#failuresByIp.get(ip)?.times ?? 0) + 1
    const pauseMs = Math.min(retryMs.most, retryMs.first * 2 ** (times - 1))
    const reason = messageOf(error)
    this.#failuresByIp.set(ip, { reason, times, retryAtMs: clock.monotonic() + pauseMs })
    if (times > 1 || this.#isAwaited) return
    const facts = { address: ip, interface: netsh.interfaceName, error }
    if (this.#ownersByIp.has(ip)) log.warn('an address of a Service could not be added; it is tried again', facts)
    else log.warn('an address that no Service uses could not be removed; it is tried again', facts)
  }

  async #waitFor(tasks: readonly Promise<void>[], signal: AbortSignal): Promise<void> {
    const done = new AbortController()
    const stop = () => done.abort()
    signal.addEventListener('abort', stop, { once: true })
    const patience = this.#options.clock.sleep(patienceMs, done.signal).catch(() => {})
    this.#isAwaited = true
    await Promise.race([Promise.all(tasks), patience])
    this.#isAwaited = false
    signal.removeEventListener('abort', stop)
    done.abort()
  }

  #line(ip: string): string {
    return ownedLine(ip, this.#options.netsh.interfaceName)
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
