/** Random histories of one node: Services come, change and go, processes are restarted, others do damage. */
import fc from 'fast-check'
import type { Change, NodeView } from '../../core/backend.ts'
import { Catalog } from '../../core/catalog.ts'
import { silentMetrics } from '../../core/proxy-metrics.ts'
import { RouteTable } from '../../core/routing/route-table.ts'
import { silentNotices } from '../../core/routing/service-notices.ts'
import { usualPolicy } from '../../core/routing/serving-policy.ts'
import { record } from '../../core/testing/objects.ts'
import { anyServiceCidrs, anyServiceObjects, nodeName, serviceNames } from '../../core/testing/random-cluster.ts'
import type { AddressPlan, ServiceObjects } from '../../core/testing/random-cluster.ts'
import { objectKey } from '../../api/records.ts'

/** What happens in the cluster. */
export type ClusterStep =
  | ({ readonly do: 'put' } & ServiceObjects)
  /** Everything else of the Service stays. */
  | { readonly do: 'other policy'; readonly name: string }
  | { readonly do: 'remove'; readonly name: string }
  | { readonly do: 'service CIDRs'; readonly cidrs: readonly string[] }

/** What happens on a node. `D` is damage that others may do, `S` are the settings of a process. */
export type Step<D, S> =
  | ClusterStep
  | { readonly do: 'settings'; readonly settings: S }
  /** A new process takes over. */
  | { readonly do: 'restart' }
  | { readonly do: 'full sync' }
  /** And a full sync, as whoever watches asks for one. */
  | { readonly do: 'damage'; readonly damage: D }

export function anyClusterStep(plan: AddressPlan): fc.Arbitrary<ClusterStep> {
  return fc.oneof(
    { weight: 8, arbitrary: anyServiceObjects(plan).map((objects) => ({ do: 'put', ...objects }) as const) },
    { weight: 3, arbitrary: fc.constantFrom(...serviceNames).map((name) => ({ do: 'other policy', name }) as const) },
    { weight: 2, arbitrary: fc.constantFrom(...serviceNames).map((name) => ({ do: 'remove', name }) as const) },
    { weight: 1, arbitrary: anyServiceCidrs(plan).map((cidrs) => ({ do: 'service CIDRs', cidrs }) as const) },
  )
}

/** Enough of them to fill a cluster. */
export function anyClusterSteps(plan: AddressPlan): fc.Arbitrary<readonly ClusterStep[]> {
  return fc.array(anyClusterStep(plan), { maxLength: 5, size: 'max' })
}

export interface NodeSteps<D, S> {
  /** True unless it says otherwise. */
  readonly restarts?: boolean
  readonly damage?: fc.Arbitrary<D>
  readonly settings?: fc.Arbitrary<S>
}

export function anyStep<D, S>(
  plan: AddressPlan,
  { restarts = true, damage, settings }: NodeSteps<D, S>,
): fc.Arbitrary<Step<D, S>> {
  return fc.oneof(
    { weight: 11, arbitrary: anyClusterStep(plan) },
    { weight: restarts ? 1 : 0, arbitrary: fc.constant({ do: 'restart' } as const) },
    { weight: 1, arbitrary: fc.constant({ do: 'full sync' } as const) },
    ...(damage === undefined ? [] : [{ weight: 2, arbitrary: anyDamageStep(damage) }]),
    ...(settings === undefined
      ? []
      : [{ weight: 2, arbitrary: settings.map((it) => ({ do: 'settings', settings: it }) as const) }]),
  )
}

export function anyDamageStep<D>(damage: fc.Arbitrary<D>) {
  return damage.map((it) => ({ do: 'damage', damage: it }) as const)
}

export interface Work {
  readonly view: NodeView
  readonly change: Change
}

/** The cluster as this node learns of it: who gets an address that several Services want is decided. */
export class Cluster {
  readonly #plan: AddressPlan
  readonly #catalog = new Catalog()
  readonly #table: RouteTable

  constructor(plan: AddressPlan, steps: readonly ClusterStep[] = []) {
    this.#plan = plan
    this.#catalog.replace('Service', [])
    this.#catalog.replace('EndpointSlice', [])
    for (const step of steps) this.apply(step)
    this.#table = this.#newTable()
  }

  apply(step: ClusterStep): void {
    switch (step.do) {
      case 'put':
        this.#catalog.upsert(step.service)
        return this.#catalog.upsert(step.slice)
      case 'other policy': {
        const service = this.#catalog.services.get(objectKey({ namespace: 'shop', name: step.name }))
        if (service === undefined) return
        const externalTrafficPolicy = service.externalTrafficPolicy === 'Local' ? 'Cluster' : 'Local'
        return this.#catalog.upsert({ ...service, externalTrafficPolicy })
      }
      case 'remove':
        this.#catalog.remove('Service', objectKey({ namespace: 'shop', name: step.name }))
        return this.#catalog.remove('EndpointSlice', objectKey({ namespace: 'shop', name: `${step.name}-1` }))
      case 'service CIDRs': {
        const metadata = { name: 'kubernetes' }
        // None is possible only when the object is gone.
        if (step.cidrs.length === 0) return this.#catalog.remove('ServiceCIDR', 'kubernetes' as never)
        return this.#catalog.upsert(record('ServiceCIDR', { metadata, spec: { cidrs: step.cidrs } }))
      }
      default:
        return step satisfies never
    }
  }

  /** Whatever happened, it is as if only these had. */
  returnTo(steps: readonly ClusterStep[]): void {
    const services = new Set([...this.#catalog.services.values()].map(({ name }) => name))
    for (const name of services) this.apply({ do: 'remove', name })
    this.apply({ do: 'service CIDRs', cidrs: [] })
    for (const step of steps) this.apply(step)
  }

  /** What changed since the last call, or everything. The view stays as it is. */
  take({ full }: { readonly full: boolean }): Work {
    return photograph(this.#table.take({ full }))
  }

  /** As a process meets it that has just started. */
  takeAll(): Work {
    return photograph(this.#newTable().take({ full: true }))
  }

  #newTable(): RouteTable {
    return new RouteTable({
      catalog: this.#catalog,
      family: this.#plan.family,
      nodeName,
      nodeIP: this.#plan.node[0],
      policy: usualPolicy,
      notices: silentNotices,
      metrics: silentMetrics,
      startedAtMs: 0,
    })
  }
}

/** What a failed sync did not program is part of the next one. */
export function accumulated({ change: { keys } }: Work, next: Work): Work {
  return { ...next, change: { ...next.change, keys: [...new Set([...keys, ...next.change.keys])] } }
}

function photograph({ view, change }: Work): Work {
  return { view: { ...view, routesByKey: new Map(view.routesByKey) }, change }
}
