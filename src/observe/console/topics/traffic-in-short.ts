/** The numbers that the console shows of what a Service, a port or an endpoint carries. */
import type { ServiceRecord } from '../../../api/records.ts'
import { routeKey } from '../../../core/route.ts'
import type { RouteTraffic } from '../../../core/traffic.ts'
import type { CarriedView } from '../../traffic/traffic-book.ts'
import { failuresOf, rates } from '../../traffic/traffic-rows.ts'
import type { TrafficInShort } from '../wire.ts'

/** Longer ago, the reading before says nothing about now. */
const longestSpanMs = 5 * 60_000

/** Of which rates can be made. */
export function secondsSince({ atMs, before }: Pick<CarriedView, 'atMs' | 'before'>): number | undefined {
  return before === undefined || atMs - before.atMs > longestSpanMs ? undefined : (atMs - before.atMs) / 1000
}

/** Added up over ports and families. */
export class TrafficSum {
  #connections: number | undefined
  #open: number | undefined
  #connectionRate: number | undefined
  #byteRate: number | undefined
  #failures = 0
  #lastUsedMs = -Infinity

  add(now: RouteTraffic, before: RouteTraffic | undefined, seconds: number | undefined): void {
    const { connectionRate, byteRate } = rates(now, before, seconds)
    this.#connections = plus(this.#connections, now.connections)
    this.#open = plus(this.#open, now.open)
    this.#connectionRate = plus(this.#connectionRate, connectionRate)
    this.#byteRate = plus(this.#byteRate, byteRate)
    this.#failures += failuresOf(now)
    this.#lastUsedMs = Math.max(this.#lastUsedMs, now.lastUsedMs ?? -Infinity)
  }

  get inShort(): TrafficInShort {
    return {
      ...(this.#connections !== undefined && { connections: this.#connections }),
      ...(this.#open !== undefined && { open: this.#open }),
      ...(isSome(this.#connectionRate) && { connectionRate: rounded(this.#connectionRate) }),
      ...(isSome(this.#byteRate) && { byteRate: rounded(this.#byteRate) }),
      ...(this.#failures > 0 && { failures: this.#failures }),
      ...(this.#lastUsedMs > -Infinity && { lastUsed: new Date(this.#lastUsedMs).toISOString() }),
    }
  }
}

export function trafficInShort(
  now: RouteTraffic,
  before: RouteTraffic | undefined,
  seconds: number | undefined,
): TrafficInShort {
  const sum = new TrafficSum()
  sum.add(now, before, seconds)
  return sum.inShort
}

/** Undefined: nothing has been read of it. */
export function trafficOfService(
  { namespace, name, ports }: ServiceRecord,
  carried: readonly CarriedView[],
): TrafficInShort | undefined {
  let sum: TrafficSum | undefined
  for (const one of carried)
    for (const port of ports) {
      const key = routeKey(namespace, name, port.name, port.protocol)
      const traffic = one.traffic.get(key)
      if (traffic === undefined) continue
      sum ??= new TrafficSum()
      sum.add(traffic, one.before?.traffic.get(key), secondsSince(one))
    }
  return sum?.inShort
}

function plus(sum: number | undefined, value: number | undefined): number | undefined {
  return sum === undefined || value === undefined ? (sum ?? value) : sum + value
}

/** Most Services rest: a rate of zero is not told, so that the second reading is no news about all of them. */
function isSome(rate: number | undefined): rate is number {
  return rate !== undefined && rounded(rate) > 0
}

/** More digits would only make it look different at each reading. */
function rounded(rate: number): number {
  return rate >= 100 ? Math.round(rate) : Math.round(rate * 100) / 100
}
