/** What is open now, from the kernel's connection table: for modes whose rules do not know it. */
import type { Clock } from '../../core/clock.ts'
import type { NodeView } from '../../core/backend.ts'
import type { Logger } from '../../core/logger.ts'
import { OpenConnections } from '../../core/open-connections.ts'
import type { RouteKey } from '../../core/route.ts'
import type { RouteTraffic } from '../../core/traffic.ts'
import type { Conntrack } from './conntrack.ts'

export interface ConnectionReaderOptions {
  readonly conntrack: Conntrack
  /** Whether the kernel keeps account of bytes now. */
  readonly hasAccounting: () => Promise<boolean>
  readonly clock: Pick<Clock, 'monotonic'>
  readonly log: Logger
}

export const readEveryMs = 10_000
/** A table of a million connections takes a second or two: reading takes at most one part in so many of the time. */
const restPerReading = 50

/** For one family. */
export class ConnectionReader {
  readonly #options: ConnectionReaderOptions
  #note: string | undefined
  #last: { readonly traffic: ReadonlyMap<RouteKey, RouteTraffic>; readonly goodUntil: number } | undefined

  constructor(options: ConnectionReaderOptions) {
    this.#options = options
  }

  /** What kept the last reading from knowing more. */
  get note(): string | undefined {
    return this.#note
  }

  /** What is read may be ten seconds old, and more where the table is large. Empty where it cannot be read. */
  async read(view: NodeView, signal: AbortSignal): Promise<ReadonlyMap<RouteKey, RouteTraffic>> {
    const { clock, log } = this.#options
    const startedAt = clock.monotonic()
    if (this.#last !== undefined && startedAt < this.#last.goodUntil) return this.#last.traffic
    let traffic: ReadonlyMap<RouteKey, RouteTraffic> = new Map()
    try {
      traffic = await this.#readNow(view, signal)
    } catch (error) {
      if (signal.aborted) throw error
      this.#note = `open connections: ${(error as Error).message}`
      log.debug(1, 'cannot read the connection table', { family: view.family, error })
    }
    const endedAt = clock.monotonic()
    this.#last = { traffic, goodUntil: endedAt + Math.max(readEveryMs, restPerReading * (endedAt - startedAt)) }
    return traffic
  }

  async #readNow(view: NodeView, signal: AbortSignal): Promise<ReadonlyMap<RouteKey, RouteTraffic>> {
    const { conntrack, hasAccounting } = this.#options
    const open = new OpenConnections([...view.routesByKey.values()])
    for await (const batch of conntrack.connections(view.family, signal)) {
      if (batch === 'again') open.reset()
      else for (const connection of batch) open.add(connection)
    }
    const isAccounting = await hasAccounting()
    this.#note = isAccounting ? undefined : 'bytes: net.netfilter.nf_conntrack_acct is off'
    return open.traffic(isAccounting)
  }
}
