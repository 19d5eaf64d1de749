/** Endpoints, sent to HNS. */
import { ChangedByOthers, refusalOf } from './committed.ts'
import type { CommitContext, Committed } from './committed.ts'
import { isUnused } from './edit.ts'
import type { KernelspaceEdit } from './edit.ts'
import { usedIps } from './endpoint-table.ts'
import { endpointSettings } from './new-endpoints.ts'
import type { NewEndpoint } from './new-endpoints.ts'
import { ownedEndpoint } from './owned-names.ts'
import type { Wanted } from './resolve.ts'

/** Deletions that failed before and are tried again in one sync. */
const mostRetries = 20

/** Makes endpoints when the first load balancer needs them, so that the first Services need not wait for those of all others. */
export class EndpointMaker {
  readonly #edit: KernelspaceEdit
  readonly #context: CommitContext
  readonly #done: Committed
  readonly #signal: AbortSignal
  readonly #pendingByIp: Map<string, NewEndpoint>

  constructor(edit: KernelspaceEdit, context: CommitContext, done: Committed, signal: AbortSignal) {
    this.#edit = edit
    this.#context = context
    this.#done = done
    this.#signal = signal
    this.#pendingByIp = new Map(edit.newEndpoints.map((endpoint) => [endpoint.ip, endpoint]))
  }

  /** Nothing can be forwarded without it. */
  async makeSourceVip(): Promise<void> {
    for (const endpoint of this.#edit.newEndpoints) if (endpoint.purpose === 'source-vip') await this.#make(endpoint)
  }

  /** What a load balancer names, and the address of its Service. */
  async makeFor({ key, ips }: Wanted): Promise<void> {
    const vip = this.#edit.after.plan.routesByKey.get(key)?.vipEndpoint
    for (const ip of vip === undefined ? ips : [vip, ...ips]) {
      const endpoint = this.#pendingByIp.get(ip)
      if (endpoint !== undefined) await this.#make(endpoint)
    }
  }

  /** Of Services that have no load balancer now. */
  async makeRest(): Promise<void> {
    for (const endpoint of this.#pendingByIp.values()) await this.#make(endpoint)
  }

  async #make(endpoint: NewEndpoint): Promise<void> {
    const { hcn, readers } = this.#context
    const { plan, network } = this.#edit.after
    this.#pendingByIp.delete(endpoint.ip)
    try {
      const settings = endpointSettings(endpoint, plan.settings, network)
      const created = await hcn.createEndpoint(network.id, settings, this.#signal)
      // HNS took what it was told; an answer that says less, or otherwise, must not make us do it over and over.
      const { providerAddress } = settings
      const made = { ...created, providerAddress }
      readers.endpoints.remember(made)
      this.#done.addEndpoint(made)
      this.#done.counts.endpointsCreated++
    } catch (error) {
      const refusal = refusalOf(error)
      if (refusal.reason === 'not-found') throw this.#edit.isFromReading ? refusal : changedByOthers(refusal)
      if (endpoint.purpose === 'source-vip') throw refusal
      this.#done.failures.ips.set(endpoint.ip, refusal.message)
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
