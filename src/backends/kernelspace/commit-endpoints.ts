/** Endpoints, sent to HNS. */
import { ChangedByOthers, refusalOf } from './committed.ts'
import type { CommitContext, Committed } from './committed.ts'
import { isUnused } from './edit.ts'
import type { KernelspaceEdit } from './edit.ts'
import { usedIps } from './endpoint-table.ts'
import { endpointSettings } from './new-endpoints.ts'
import { ownedEndpoint } from './owned-names.ts'

/** Deletions that failed before and are tried again in one sync. */
const mostRetries = 20

export async function createEndpoints(
  { newEndpoints, after, isFromReading }: KernelspaceEdit,
  { hcn, readers }: CommitContext,
  done: Committed,
  signal: AbortSignal,
): Promise<void> {
  const { plan, network } = after
  for (const endpoint of newEndpoints) {
    const settings = endpointSettings(endpoint, plan.settings, network)
    try {
      const created = await hcn.createEndpoint(network.id, settings, signal)
      readers.endpoints.remember(created)
      done.addEndpoint(created)
      done.counts.endpointsCreated++
    } catch (error) {
      const refusal = refusalOf(error)
      if (refusal.reason === 'not-found') throw isFromReading ? refusal : changedByOthers(refusal)
      // Without it nothing can be forwarded.
      if (endpoint.purpose === 'source-vip') throw refusal
      done.failures.ips.set(endpoint.ip, refusal.message)
    }
  }
}

/** Only ours, only remote ones, and none that a load balancer still names because HNS did not let it change. */
export async function deleteUnusedEndpoints(
  { suspects, after }: KernelspaceEdit,
  { hcn, owned, log }: CommitContext,
  done: Committed,
  signal: AbortSignal,
): Promise<void> {
  const isNamed = namedByUnsettled(done)
  let retries = 0
  for (const id of suspects) {
    const endpoint = done.table.byId.get(id)
    if (endpoint === undefined || !isUnused({ plan: after.plan, table: done.table }, id)) continue
    if (!usedIps(endpoint).every((ip) => owned.has(ownedEndpoint(ip)))) continue
    const isRetry = after.left.endpoints.has(id)
    if (isNamed.has(id) || (isRetry && ++retries > mostRetries)) {
      done.left.endpoints.add(id)
      continue
    }
    try {
      await hcn.deleteEndpoint(id, signal)
      done.removeEndpoint(endpoint)
      done.counts.endpointsDeleted++
    } catch (error) {
      log.warn('cannot delete an endpoint that nobody needs', { ips: endpoint.ips, id, error: refusalOf(error) })
      done.left.endpoints.add(id)
    }
  }
}

/** Load balancers that are as planned name only what is needed. The others are looked at. */
function namedByUnsettled(done: Committed): ReadonlySet<string> {
  const { held, plan, failedKeys, left } = done.written()
  const unsettled = [...failedKeys].flatMap((key) => plan.routesByKey.get(key)?.balancers ?? [])
  return new Set([
    ...[...left.balancers.values()].flatMap(({ settings }) => settings.endpoints),
    ...unsettled.flatMap(({ frontend }) => held.get(frontend)?.settings.endpoints ?? []),
  ])
}

export function changedByOthers(error: Error): ChangedByOthers {
  return new ChangedByOthers(error.message, { cause: error })
}
