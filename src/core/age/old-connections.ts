/**
 * Ends TCP connections of clients on this node that are older than their Service wants, so that they are opened anew and
 * pods that came later get some. A client's socket says where it is connected, and not since when: a connection is as old
 * as this process knows it.
 */
import type { NodeView } from '../backend.ts'
import type { Clock } from '../clock.ts'
import type { Logger } from '../logger.ts'
import type { Entrance, Route, RouteKey } from '../route.ts'

export interface ClientSocket {
  /** Never used again. */
  readonly cookie: bigint
  readonly ip: string
  readonly port: number
}

/** Sockets of all programs on this machine, in all its network namespaces. */
export interface ClientSockets<Socket extends ClientSocket> {
  find(
    protocol: 'TCP',
    isWanted: (ip: string, port: number) => boolean,
    signal: AbortSignal,
  ): Promise<{ readonly sockets: readonly Socket[]; readonly closedNamespaces: number }>
  destroy(sockets: readonly Socket[], signal: AbortSignal): Promise<{ readonly destroyed: number }>
  tryDestroy(signal: AbortSignal): Promise<void>
}

export interface OldConnectionsOptions<Socket extends ClientSocket> {
  readonly view: () => NodeView
  /** Calls with the routes that are other ones in the view from now on. */
  readonly watchView: (viewer: (keys: readonly RouteKey[]) => void) => () => void
  /** Addresses of this machine, where node ports are. */
  readonly localIps: () => readonly string[]
  readonly openSockets: () => Promise<ClientSockets<Socket>>
  /** Somebody asked for it at the start: then it is tried at once. */
  readonly isWanted: () => boolean
  readonly onEnded: (count: number) => void
  /** From 0 to 1. */
  readonly random: () => number
  readonly clock: Clock
  readonly log: Logger
}

/** Connections that begin together do not end together: each has its own part of the age, from 0.9 to 1.1. */
const jitter = 0.1
/** How often to look: so many times in the shortest age, within bounds. Each look goes over the sockets of the machine. */
const looksPerAge = 20
const [shortestPauseMs, longestPauseMs] = [1_000, 30_000]

export class OldConnections<Socket extends ClientSocket> {
  readonly #options: OldConnectionsOptions<Socket>
  /** The Service ports that want it. Most nodes have none, and then nothing is done at all. */
  readonly #routes = new Map<RouteKey, Route>()
  readonly #known = new Map<bigint, Known>()
  #sockets: ClientSockets<Socket> | undefined
  #hasToldClosed = false

  constructor(options: OldConnectionsOptions<Socket>) {
    this.#options = options
  }

  async run(signal: AbortSignal): Promise<void> {
    const { watchView, view, clock, isWanted } = this.#options
    for (const key of view().routesByKey.keys()) this.#note(key)
    const unwatch = watchView((keys) => keys.forEach((key) => this.#note(key)))
    try {
      let canDestroy = !isWanted() || (await this.#try(signal))
      for (let lookAtMs = 0; !signal.aborted && canDestroy;) {
        if (this.#routes.size === 0) this.#known.clear()
        else if (clock.monotonic() >= lookAtMs) {
          canDestroy = await this.#look(signal)
          lookAtMs = clock.monotonic() + this.#pauseMs()
        }
        // A Service may come that wants a shorter age.
        await clock.sleep(shortestPauseMs, signal).catch(() => {})
      }
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    } finally {
      unwatch()
    }
  }

  #note(key: RouteKey): void {
    const route = this.#options.view().routesByKey.get(key)
    const isMovable = route?.protocol === 'TCP' && route.entrances.some(leadsToSeveral)
    if (isMovable && route.traffic?.maxConnectionAgeMs !== undefined) this.#routes.set(key, route)
    else this.#routes.delete(key)
  }

  #tellClosed(namespaces: number): void {
    if (namespaces === 0 || this.#hasToldClosed) return
    this.#hasToldClosed = true
    const advice = 'give the process CAP_SYS_ADMIN and CAP_SYS_PTRACE'
    this.#options.log.warn('old connections of some pods are not ended', { namespaces, advice })
  }

  #pauseMs(): number {
    const ages = Array.from(this.#routes.values(), ({ traffic }) => traffic?.maxConnectionAgeMs ?? longestPauseMs)
    return Math.min(longestPauseMs, Math.max(shortestPauseMs, Math.min(...ages) / looksPerAge) - shortestPauseMs)
  }

  /** Whether there is any use in going on. */
  async #try(signal: AbortSignal): Promise<boolean> {
    try {
      this.#sockets = await this.#options.openSockets()
      await this.#sockets.tryDestroy(signal)
      return true
    } catch (error) {
      return this.#told(error, signal)
    }
  }

  async #look(signal: AbortSignal): Promise<boolean> {
    const { openSockets, clock, random, onEnded, log } = this.#options
    try {
      this.#sockets ??= await openSockets()
      const ageAt = this.#ages()
      const isWanted = (ip: string, port: number) => ageAt(ip, port) !== undefined
      const { sockets: found, closedNamespaces } = await this.#sockets.find('TCP', isWanted, signal)
      this.#tellClosed(closedNamespaces)
      const now = clock.monotonic()
      const old = found.filter((socket) => {
        const known = this.#known.get(socket.cookie) ?? { sinceMs: now, part: 1 - jitter + 2 * jitter * random() }
        this.#known.set(socket.cookie, known)
        const ageMs = ageAt(socket.ip, socket.port)
        return ageMs !== undefined && now - known.sinceMs >= ageMs * known.part
      })
      const open = new Set(found.map(({ cookie }) => cookie))
      for (const cookie of this.#known.keys()) if (!open.has(cookie)) this.#known.delete(cookie)
      if (old.length === 0) return true
      const { destroyed } = await this.#sockets.destroy(old, signal)
      onEnded(destroyed)
      log.debug(2, 'old connections ended', { connections: destroyed })
      return true
    } catch (error) {
      return this.#told(error, signal)
    }
  }

  /** A kernel that cannot will not learn it. Whatever else fails is tried again. */
  #told(error: unknown, signal: AbortSignal): boolean {
    if (signal.aborted) return false
    const isHopeless = error instanceof Error && 'reason' in error && error.reason === 'unsupported'
    const advice = 'fairlead.dev/max-connection-age has no effect on this node'
    if (isHopeless) this.#options.log.error('old connections cannot be ended', { error, advice })
    else this.#options.log.warn('old connections could not be ended', { error })
    return !isHopeless
  }

  /** How old a connection to this place may become. */
  #ages(): (ip: string, port: number) => number | undefined {
    const [byPlace, byNodePort] = [new Map<string, number>(), new Map<number, number>()]
    for (const { entrances, traffic } of this.#routes.values())
      for (const entrance of entrances.filter(leadsToSeveral)) {
        const ageMs = traffic?.maxConnectionAgeMs ?? Infinity
        if (entrance.kind === 'node-port') byNodePort.set(entrance.port, ageMs)
        else byPlace.set(`${entrance.ip} ${entrance.port}`, ageMs)
      }
    const own = new Set(byNodePort.size === 0 ? [] : this.#options.localIps())
    return (ip, port) => byPlace.get(`${ip} ${port}`) ?? (own.has(ip) ? byNodePort.get(port) : undefined)
  }
}

/** Who has one endpoint would come back to it. Traffic policies differ by entrance; all clients are on this node. */
function leadsToSeveral({ inside }: Entrance): boolean {
  return inside.kind === 'forward' && inside.to.length > 1
}

interface Known {
  readonly sinceMs: number
  /** Of the age, when it ends. */
  readonly part: number
}
