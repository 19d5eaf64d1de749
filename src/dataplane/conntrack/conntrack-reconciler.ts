/**
 * Deletes the UDP flows that still lead to an endpoint that is gone, after a sync that changed UDP endpoints. A failure is
 * only logged: the rules are in place, and the next change of endpoints tries again.
 */
import type { Clock } from '../../core/clock.ts'
import type { Logger } from '../../core/logger.ts'
import { flowTargetsOf, selectStaleFlows } from '../../core/sync/stale-flows.ts'
import type { Flow, FlowTargets } from '../../core/sync/stale-flows.ts'
import type { AfterSync } from '../../core/sync/sync-runner.ts'
import type { Family } from '../../net/ip.ts'
import { ConntrackError, flowKey } from './conntrack.ts'
import type { Conntrack } from './conntrack.ts'

export interface ConntrackReconcilerOptions {
  readonly conntrack: Pick<Conntrack, 'dump' | 'delete'>
  readonly clock: Pick<Clock, 'monotonic'>
  readonly log: Logger
  readonly metrics: ConntrackMetrics
}

interface ConntrackMetrics {
  /** Called also when only some of the stale flows could be deleted. */
  reconciled(family: Family, result: { readonly seconds: number; readonly deleted: number }): void
}

/**
 * How many flows are checked at once. Each check first builds an index of the UDP routes, so a few flows are not worth
 * it; and all the flows of a busy node would take hundreds of megabytes.
 */
const flowsPerCheck = 16_384

export interface ConntrackReconciler extends AfterSync {
  /** For a mode whose flows do not lead to endpoints. Returns how many were deleted. */
  reconcile(family: Family, targets: readonly FlowTargets[], signal: AbortSignal): Promise<number>
}

export function conntrackReconciler(options: ConntrackReconcilerOptions): ConntrackReconciler {
  const { conntrack, clock, log, metrics } = options
  return {
    name: 'delete stale UDP flows',
    reconcile,
    async run({ view, needsConntrackCleanup }, signal, span) {
      if (!needsConntrackCleanup) return
      const deleted = await reconcile(view.family, flowTargetsOf(view.routesByKey.values()), signal)
      span?.set({ deleted })
    },
  }

  async function reconcile(family: Family, targets: readonly FlowTargets[], signal: AbortSignal): Promise<number> {
    const startedAt = clock.monotonic()
    let stale: readonly Flow[]
    try {
      stale = await findStaleFlows(conntrack, targets, family, signal)
    } catch (error) {
      if (!signal.aborted) log.warn('cannot look for stale UDP flows', { family, error })
      return 0
    }
    const deleted = await deleteFlows(stale, family, signal)
    const seconds = (clock.monotonic() - startedAt) / 1000
    metrics.reconciled(family, { seconds, deleted })
    log.debug(2, 'looked for stale UDP flows', { family, deleted, seconds })
    return deleted
  }

  async function deleteFlows(flows: readonly Flow[], family: Family, signal: AbortSignal): Promise<number> {
    if (flows.length === 0) return 0
    try {
      return await conntrack.delete(flows, signal)
    } catch (error) {
      const deleted = error instanceof ConntrackError ? error.deleted : 0
      if (!signal.aborted)
        log.warn('some stale UDP flows could not be deleted', { family, stale: flows.length, deleted, error })
      return deleted
    }
  }
}

async function findStaleFlows(
  conntrack: Pick<Conntrack, 'dump'>,
  targets: readonly FlowTargets[],
  family: Family,
  signal: AbortSignal,
): Promise<readonly Flow[]> {
  // A table that changes while it is read may show a flow twice; it must be deleted, and counted, once.
  const staleByKey = new Map<string, Flow>()
  const check = (flows: readonly Flow[]) => {
    for (const flow of selectStaleFlows(targets, flows)) staleByKey.set(flowKey(flow), flow)
  }
  if (targets.length === 0) return []
  let waiting: Flow[] = []
  for await (const flows of conntrack.dump(family, signal)) {
    waiting.push(...flows)
    if (waiting.length < flowsPerCheck) continue
    check(waiting)
    waiting = []
  }
  check(waiting)
  return [...staleByKey.values()]
}
