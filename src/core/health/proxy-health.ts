/**
 * What `/healthz` and `/livez` answer, as kube-proxy does: a family is unhealthy while something it was asked to
 * program has waited too long. An idle proxy stays healthy for ever.
 */
import type { NodeRecord } from '../../api/records.ts'
import { families } from '../../net/ip.ts'
import type { Family } from '../../net/ip.ts'
import type { Clock } from '../clock.ts'

interface FamilyHealth {
  readonly lastUpdated: string
  readonly healthy: boolean
}

/** The body, with its keys in the order of kube-proxy's JSON. */
export interface HealthBody {
  readonly lastUpdated: string
  readonly currentTime: string
  /** Only `/healthz` has it. */
  readonly nodeEligible?: boolean
  readonly healthy: boolean
  /** Absent until a sync loop has started. */
  readonly status?: Readonly<Partial<Record<'IPv4' | 'IPv6', FamilyHealth>>>
}

export interface HealthAnswer {
  readonly status: 200 | 503
  readonly body: HealthBody
}

interface FamilyState {
  /** Wall clock, for people; undefined until the first update. */
  lastUpdatedMs: number | undefined
  /** Monotonic time of the oldest request that is not programmed. */
  pendingSince: number | undefined
}

const deletionTaint = 'ToBeDeletedByClusterAutoscaler'

/** How Go prints a time that was never set. */
const zeroTime = '0001-01-01T00:00:00Z'

const wireNameByFamily = { ipv4: 'IPv4', ipv6: 'IPv6' } as const

export class ProxyHealth {
  readonly #clock: Clock
  readonly #timeoutMs: () => number
  readonly #stateByFamily: Readonly<Record<Family, FamilyState>> = {
    ipv4: { lastUpdatedMs: undefined, pendingSince: undefined },
    ipv6: { lastUpdatedMs: undefined, pendingSince: undefined },
  }
  #node: NodeRecord | undefined

  constructor({ clock, timeoutMs }: { readonly clock: Clock; readonly timeoutMs: () => number }) {
    this.#clock = clock
    this.#timeoutMs = timeoutMs
  }

  /** A sync was requested. */
  queuedUpdate(family: Family): void {
    this.#stateByFamily[family].pendingSince ??= this.#clock.monotonic()
  }

  /** A sync succeeded, or the sync loop has just started. */
  updated(family: Family): void {
    const state = this.#stateByFamily[family]
    state.lastUpdatedMs = this.#clock.now()
    state.pendingSince = undefined
  }

  /**
   * The Node as it is now. A deleted Node is not reported here: kube-proxy goes on judging by the last one it saw,
   * and load balancers depend on the answer.
   */
  setNode(node: NodeRecord): void {
    this.#node = node
  }

  get isHealthy(): boolean {
    return families.every((family) => this.#isFamilyHealthy(family))
  }

  /** For load balancers: may this node get new traffic? */
  healthz(): HealthAnswer {
    const nodeEligible = isEligible(this.#node)
    return this.#answer(this.isHealthy && nodeEligible, { nodeEligible })
  }

  /** For the kubelet: does the proxy itself work? */
  livez(): HealthAnswer {
    return this.#answer(this.isHealthy, {})
  }

  #answer(isOk: boolean, extra: Pick<HealthBody, 'nodeEligible'>): HealthAnswer {
    const currentTime = rfc3339(this.#clock.now())
    const status = this.#familyStatus()
    return {
      status: isOk ? 200 : 503,
      body: {
        lastUpdated: isOk ? currentTime : this.#newestUpdate(),
        currentTime,
        ...extra,
        healthy: this.isHealthy,
        ...(Object.keys(status).length > 0 && { status }),
      },
    }
  }

  #familyStatus(): NonNullable<HealthBody['status']> {
    return Object.fromEntries(
      families.flatMap((family) => {
        const { lastUpdatedMs } = this.#stateByFamily[family]
        if (lastUpdatedMs === undefined) return []
        const health = { lastUpdated: rfc3339(lastUpdatedMs), healthy: this.#isFamilyHealthy(family) }
        return [[wireNameByFamily[family], health]]
      }),
    )
  }

  #isFamilyHealthy(family: Family): boolean {
    const { lastUpdatedMs, pendingSince } = this.#stateByFamily[family]
    if (lastUpdatedMs === undefined || pendingSince === undefined) return true
    return this.#clock.monotonic() - pendingSince < this.#timeoutMs()
  }

  #newestUpdate(): string {
    const times = families.flatMap((family) => this.#stateByFamily[family].lastUpdatedMs ?? [])
    return times.length === 0 ? zeroTime : rfc3339(Math.max(...times))
  }
}

function isEligible(node: NodeRecord | undefined): boolean {
  return node !== undefined && !node.isBeingDeleted && !node.taintKeys.includes(deletionTaint)
}

/** RFC 3339 as Go prints it: no trailing zeros in the fraction, and no fraction when it is zero. */
function rfc3339(ms: number): string {
  return new Date(ms).toISOString().replace(/\.?0*Z/, 'Z')
}
