/**
 * Notices what others do to our objects: an HNS that was restarted, a CNI that began anew, a load balancer that was deleted.
 * Three questions, whatever HNS holds: the network, a list of load balancers, a list of endpoints; and one for the endpoint
 * of the host where health checks are forwarded to it.
 */
import type { Clock } from '../../core/clock.ts'
import type { Logger } from '../../core/logger.ts'
import type { Programming } from '../../core/sync/programming.ts'
import { noSuspicion, watchForDrift } from '../../core/sync/watch-for-drift.ts'
import type { Watched } from '../../core/sync/watch-for-drift.ts'
import type { Hcn } from '../../dataplane/hcn/hcn.ts'
import type { OwnedObjects } from '../../dataplane/owned-objects/owned-objects.ts'
import type { Readers } from './committed.ts'
import { differencesOf } from './endpoint-table.ts'
import { findBalancerDrift, findEndpointDrift, findRootDrift } from './find-drift.ts'
import type { Written } from './held.ts'
import { misplacedEndpoints } from './misplaced-endpoints.ts'
import { networkOf } from './network.ts'
import { isOverlay } from './settings.ts'

/**
 * All is to be repaired within ten seconds, also when HNS is slow, busy with the other family, or was away. To ask it again
 * costs this process next to nothing.
 */
const [mostPauseMs, lostPauseMs] = [5_000, 4_000]

export interface DriftWatchOptions {
  readonly hcn: Hcn
  readonly owned: Pick<OwnedObjects, 'has'>
  /** The endpoint of the host, if it matters. It need not be in the network. */
  readonly findRoot: () => Promise<Written['root']>
  readonly readers: Readers
  readonly clock: Clock
  readonly log: Logger
}

export async function watchHns(
  { hcn, owned, findRoot, readers, clock, log }: DriftWatchOptions,
  programming: Pick<Programming<unknown, Written>, 'inTurn' | 'written' | 'isLost' | 'syncCount'>,
  onFound: (found: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const everything: Watched<Written, string> = {
    isExact: false,
    mostPauseMs,
    suspect: () => Promise.resolve(noSuspicion),
    compare: (written) => findHnsDrift(written, { hcn, owned, findRoot, readers }, signal),
  }
  const lost = 'the last sync failed'
  await watchForDrift({ parts: [everything], lost, lostPauseMs, onFound, clock, log }, programming, signal)
}

export async function findHnsDrift(
  written: Written,
  { hcn, owned, findRoot, readers }: Omit<DriftWatchOptions, 'clock' | 'log'>,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { network, plan, table } = written
  const { name } = plan.settings.network
  const found = await hcn.networkNamed(name, signal)
  if (found === undefined) return `the network ${name} is gone`
  if (found.id !== network.id) return `the network ${name} is another one now`
  if (isOverlay(plan.settings) && networkOf(found).subnets !== network.subnets)
    return `nodes came to the network ${name}, or left it`
  const balancers = findBalancerDrift(written, await hcn.loadBalancerSummaries(signal), readers.balancers)
  if (balancers !== undefined) return balancers
  const { ids, added } = await readers.endpoints.list(network.id, table.byId, signal)
  const root = findRootDrift(written, await findRoot())
  if (root !== undefined) return root
  const endpoints = findEndpointDrift(written, { added, removed: differencesOf(table, ids).gone })
  if (endpoints !== undefined) return endpoints
  // HNS did not let it go when it was found out.
  const [misplaced] = misplacedEndpoints(written, owned)
  return misplaced && `the endpoint of ${misplaced.ips.join()} leads to another node`
}
