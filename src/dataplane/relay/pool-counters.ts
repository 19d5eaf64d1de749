/** The counters of a pool's endpoints. They go when the endpoint has left and its last connection has ended. */
import { hostPort } from '../../net/ip.ts'
import { endpointCells, EndpointCounters } from './endpoint-counters.ts'
import type { EndpointCounts, SocketAddress } from './relay.ts'

export class PoolCounters {
  readonly #countersByName = new Map<string, EndpointCounters>()
  #names: ReadonlySet<string> = new Set()

  /** With `cells`, one for each endpoint, it is counted there. */
  update(endpoints: readonly SocketAddress[], cells?: readonly Float64Array[]): void {
    const names = endpoints.map(({ ip, port }) => hostPort(ip, port))
    this.#names = new Set(names)
    for (const [index, name] of names.entries()) {
      const given = cells?.[index]
      if (given !== undefined) this.#countersByName.set(name, new EndpointCounters(given))
      else if (!this.#countersByName.has(name)) this.#countersByName.set(name, new EndpointCounters())
    }
    this.forgetEnded()
  }

  /** As `update`, with memory that threads can share. Returns the cells of each endpoint. */
  updateShared(endpoints: readonly SocketAddress[]): readonly Float64Array[] {
    const fresh = endpoints.filter(({ ip, port }) => !this.#countersByName.has(hostPort(ip, port)))
    const memory = new SharedArrayBuffer(fresh.length * endpointCells * 8)
    for (const [index, { ip, port }] of fresh.entries()) {
      const cells = new Float64Array(memory, index * endpointCells * 8, endpointCells)
      this.#countersByName.set(hostPort(ip, port), new EndpointCounters(cells))
    }
    this.update(endpoints)
    return endpoints.map(({ ip, port }) => this.of(hostPort(ip, port)).cells)
  }

  /** One that has left may still be dialled: that is counted, and nobody looks at it. */
  of(name: string): EndpointCounters {
    return this.#countersByName.get(name) ?? new EndpointCounters()
  }

  forgetEnded(): void {
    for (const [name, { active }] of this.#countersByName)
      if (active === 0 && !this.#names.has(name)) this.#countersByName.delete(name)
  }

  /** Whoever had the connections is gone. */
  forgetActive(): void {
    for (const counters of this.#countersByName.values()) counters.forgetActive()
  }

  snapshot(): ReadonlyMap<string, EndpointCounts> {
    this.forgetEnded()
    return new Map([...this.#countersByName].map(([name, counters]) => [name, counters.snapshot()]))
  }
}
