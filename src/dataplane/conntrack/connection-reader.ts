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

/** A table of a million connections takes a second of a processor. */
export const readEveryMs = 10_000

/** For one family. */
export class ConnectionReader {
  readonly #options: ConnectionReaderOptions
  #last: { readonly traffic: ReadonlyMap<RouteKey, RouteTraffic>; readonly readAt: number } | undefined

  constructor(options: ConnectionReaderOptions) {
    this.#options = options
  }

  /** What is read is at most ten seconds old. Empty where the table cannot be read. */
  async read(view: NodeView, signal: AbortSignal): Promise<ReadonlyMap<RouteKey, RouteTraffic>> {
    const { clock, log } = this.#options
    if (this.#last !== undefined && clock.monotonic() - this.#last.readAt < readEveryMs) return this.#last.traffic
    let traffic: ReadonlyMap<RouteKey, RouteTraffic> = new Map()
    try {
      traffic = await this.#readNow(view, signal)
    } catch (error) {
      if (signal.aborted) throw error
      log.debug(1, 'cannot read the connection table', { family: view.family, error })
    }
    this.#last = { traffic, readAt: clock.monotonic() }
    return traffic
  }

  async #readNow(view: NodeView, signal: AbortSignal): Promise<ReadonlyMap<RouteKey, RouteTraffic>> {
    const { conntrack, hasAccounting } = this.#options
    const open = new OpenConnections([...view.routesByKey.values()])
    for await (const batch of conntrack.connections(view.family, signal)) {
      if (batch === 'again') open.reset()
      else for (const connection of batch) open.add(connection)
    }
    return open.traffic(await hasAccounting())
  }
}
