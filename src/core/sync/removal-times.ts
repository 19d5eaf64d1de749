/**
 * Since when endpoints should get no new connections: noted when a change arrives, asked for when a sync takes what is
 * pending. The time is that of the change in the cluster where the EndpointSlice tells it, otherwise the time at which
 * it got here.
 */
import type { ObjectKey, SliceEndpoint, SliceRecord } from '../../api/records.ts'
import type { Family } from '../../net/ip.ts'
import type { Route, RouteKey } from '../route.ts'

/** An endpoint that new connections must not reach any more, and may reach until this is programmed. */
export interface EndpointRemoval {
  readonly key: RouteKey
  readonly service: ObjectKey
  /** `ip:port` */
  readonly address: string
  readonly family: Family
  /** Wall clock. */
  readonly sinceMs: number
  /** Whose clock that is: the cluster's (the time of the change), or ours (when it arrived). */
  readonly measuredFrom: 'change' | 'arrival'
}

type Since = Pick<EndpointRemoval, 'sinceMs' | 'measuredFrom'>

interface ServiceTimes {
  /** The first change that waits. */
  readonly first: Since
  /** Of endpoints that got worse, the first time that they did. */
  readonly byIp: Map<string, Since>
}

export class RemovalTimes {
  readonly #byService = new Map<ObjectKey, ServiceTimes>()

  serviceChanged(service: ObjectKey, nowMs: number): void {
    this.#of(service, { sinceMs: nowMs, measuredFrom: 'arrival' })
  }

  /** `current` is absent when the slice is gone, or is of another Service now. */
  sliceChanged(
    service: ObjectKey,
    previous: SliceRecord | undefined,
    current: SliceRecord | undefined,
    nowMs: number,
  ): void {
    const since = sinceWhen(previous, current, nowMs)
    const { byIp } = this.#of(service, since)
    if (previous === undefined) return
    const nowByIp = new Map(current?.endpoints.map((endpoint) => [endpoint.ip, endpoint]))
    for (const before of previous.endpoints) {
      const now = nowByIp.get(before.ip)
      if (isWorse(before, now)) byIp.set(before.ip, byIp.get(before.ip) ?? since)
      else if (now?.ready === true) byIp.delete(before.ip)
    }
  }

  /** What waited for the Service came to nothing. */
  forget(service: ObjectKey): void {
    this.#byService.delete(service)
  }

  clear(): void {
    this.#byService.clear()
  }

  /** The endpoints that the route loses when `after` takes the place of `before`. */
  removalsFrom(before: Route, after: Route | undefined, nowMs: number): readonly EndpointRemoval[] {
    const service = `${before.namespace}/${before.name}` as ObjectKey
    const times = this.#byService.get(service)
    const kept = new Set(after?.reachableEndpoints.map(({ address }) => address))
    return before.reachableEndpoints
      .filter(({ address }) => !kept.has(address))
      .map(({ ip, address }) => ({
        key: before.key,
        service,
        address,
        family: before.family,
        // Without a change of the Service or its slices, it is the node that has changed (its zone).
        ...(times?.byIp.get(ip) ?? times?.first ?? { sinceMs: nowMs, measuredFrom: 'arrival' }),
      }))
  }

  #of(service: ObjectKey, since: Since): ServiceTimes {
    let times = this.#byService.get(service)
    if (times === undefined) this.#byService.set(service, (times = { first: since, byIp: new Map() }))
    return times
  }
}

/** A trigger time that was there before belongs to an earlier change. */
function sinceWhen(previous: SliceRecord | undefined, current: SliceRecord | undefined, nowMs: number): Since {
  const changedAtMs = current?.triggerTimeMs
  return changedAtMs !== undefined && changedAtMs > (previous?.triggerTimeMs ?? 0)
    ? { sinceMs: changedAtMs, measuredFrom: 'change' }
    : { sinceMs: nowMs, measuredFrom: 'arrival' }
}

function isWorse(before: SliceEndpoint, now: SliceEndpoint | undefined): boolean {
  if (now === undefined) return true
  return (before.ready && !now.ready) || (before.serving && !now.serving) || (!before.terminating && now.terminating)
}
