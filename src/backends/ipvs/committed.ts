/** What the kernel did with an edit, and which routes that leaves without service. */
import type { SyncReport } from '../../core/backend.ts'
import type { Logger } from '../../core/logger.ts'
import type { RouteKey } from '../../core/route.ts'
import type { Draining } from './draining.ts'
import type { IpvsEdit } from './edit.ts'
import type { GivenWeights } from './given-weights.ts'
import { withDeviations } from './held.ts'
import type { Deviation, HeldServer, Written } from './held.ts'
import type { SetId } from './ip-sets.ts'
import type { Kernel } from './kernel.ts'
import type { ServerId } from './planned-server.ts'
import type { RoutePlan } from './route-plan.ts'

export interface CommitContext {
  readonly kernel: Kernel
  /** Told of each endpoint that the kernel took weight from or gave weight to, also when a later step fails. */
  readonly draining: Draining
  readonly weights: GivenWeights
  /** Schedulers that the kernel was found to lack. */
  readonly toldSchedulers: Set<string>
  readonly metrics: IpvsMetrics
  readonly log: Logger
}

export interface IpvsMetrics {
  restoreFailed(): void
}

/** The kernel is not what we took it for: somebody else changed it. It must be read before more is written. */
export class ChangedByOthers extends Error {
  override readonly name = 'ChangedByOthers'
}

/** What the kernel did with an edit, gathered step by step. */
export class Committed {
  /** How many of each were sent, for the log line. */
  readonly counts = { operations: 0, entries: 0, addresses: 0, rules: 0 }
  /** Why something could not be written. */
  readonly failures = {
    servers: new Map<ServerId, string>(),
    addresses: new Map<string, string>(),
    entries: new Map<SetId, Map<string, string>>(),
    outRules: new Map<string, string>(),
  }
  readonly deviations = {
    serversById: new Map<ServerId, HeldServer | 'missing'>(),
    addresses: new Map<string, Deviation>(),
    entries: new Map<SetId, Map<string, Deviation>>(),
    outRules: new Map<string, Deviation>(),
  }

  /** What the kernel holds now. */
  written({ after: { plan, deviations } }: IpvsEdit): Written {
    return { plan, deviations: withDeviations(deviations, this.deviations) }
  }
}

/** Of the routes of the edit, and of those that lost one of its servers to another route. */
export function failedRoutes({ keys, serverIds, after }: IpvsEdit, { failures }: Committed): SyncReport['failed'] {
  const { plan } = after
  const reasonsByKey = new Map<RouteKey, string>()
  if (Object.values(failures).some(({ size }) => size > 0))
    for (const key of keys) {
      const route = plan.routesByKey.get(key)
      const reason = route && reasonFor(route, failures)
      if (reason !== undefined) reasonsByKey.set(key, reason)
    }
  for (const id of serverIds) {
    const [winner, ...losers] = plan.claimsById.get(id) ?? []
    for (const { key } of losers) if (!reasonsByKey.has(key)) reasonsByKey.set(key, lostTo(id, winner?.key))
  }
  return Array.from(reasonsByKey, ([key, reason]) => ({ key, reason }))
}

function reasonFor(
  route: RoutePlan,
  { servers, addresses, entries, outRules }: Committed['failures'],
): string | undefined {
  for (const { id, ip, isBound } of route.servers) {
    const reason = servers.get(id) ?? (isBound ? addresses.get(ip) : undefined)
    if (reason !== undefined) return reason
  }
  for (const { set, entry } of route.entries) {
    const reason = entries.get(set)?.get(entry)
    if (reason !== undefined) return reason
  }
  return route.outRules.map((rule) => outRules.get(rule)).find((reason) => reason !== undefined)
}

function lostTo(id: ServerId, winner: RouteKey | undefined): string {
  return `${id} is an address of ${winner} already: give one of the two Services another port or address`
}
