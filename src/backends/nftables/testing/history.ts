/** Random histories of one node: Services, settings and addresses change, others do damage, processes come and go. */
import fc from 'fast-check'
import type { SyncReport } from '../../../core/backend.ts'
import type { Route, RouteKey } from '../../../core/route.ts'
import type { NftablesState } from '../settings.ts'
import { anyDamage, applyDamage } from './damage.ts'
import type { Damage } from './damage.ts'
import { ProxiedNode } from './proxied-node.ts'
import { anyServiceCidrs, anyServiceRoutes, anyState } from './random-cluster.ts'
import type { AddressPlan } from './random-cluster.ts'
import { RecordingTable } from './recording-table.ts'

export type Step =
  | { readonly do: 'put'; readonly service: readonly Route[] }
  | { readonly do: 'remove'; readonly name: string }
  | { readonly do: 'service CIDRs'; readonly cidrs: readonly string[] }
  | { readonly do: 'settings'; readonly state: NftablesState }
  | { readonly do: 'node ports'; readonly ips: readonly string[] }
  /** A new process takes over. */
  | { readonly do: 'restart' }
  | { readonly do: 'full sync' }
  /** And a full sync, as whoever watches asks for one. */
  | { readonly do: 'damage'; readonly damage: Damage }

export function anyStep(plan: AddressPlan): fc.Arbitrary<Step> {
  return fc.oneof(
    { weight: 8, arbitrary: anyServiceRoutes(plan).map((service): Step => ({ do: 'put', service })) },
    { weight: 2, arbitrary: fc.constantFrom('a', 'b', 'c', 'd').map((name): Step => ({ do: 'remove', name })) },
    { weight: 1, arbitrary: anyServiceCidrs(plan).map((cidrs): Step => ({ do: 'service CIDRs', cidrs })) },
    { weight: 1, arbitrary: fc.subarray([...plan.node]).map((ips): Step => ({ do: 'node ports', ips })) },
    { weight: 1, arbitrary: anyState(plan).map((state): Step => ({ do: 'settings', state })) },
    { weight: 1, arbitrary: fc.constant<Step>({ do: 'restart' }) },
    { weight: 1, arbitrary: fc.constant<Step>({ do: 'full sync' }) },
    { weight: 2, arbitrary: anyDamage.map((damage): Step => ({ do: 'damage', damage })) },
  )
}

export class History {
  readonly #plan: AddressPlan
  #routes: ReadonlyMap<RouteKey, Route>
  node: ProxiedNode

  constructor(plan: AddressPlan, atStart: ReadonlyMap<RouteKey, Route>, table: RecordingTable = new RecordingTable()) {
    this.#plan = plan
    this.#routes = atStart
    this.node = new ProxiedNode({ plan, table })
  }

  sync(full: boolean): Promise<SyncReport> {
    return this.node.sync(this.#routes, { full })
  }

  /** Whether a full sync must follow. */
  async apply(step: Step): Promise<boolean> {
    switch (step.do) {
      case 'put': {
        const rest = [...this.#routes.values()].filter(({ name }) => name !== step.service[0]?.name)
        this.#routes = new Map([...rest, ...step.service].map((route) => [route.key, route]))
        return false
      }
      case 'remove':
        this.#routes = new Map([...this.#routes].filter(([, { name }]) => name !== step.name))
        return false
      case 'service CIDRs':
        this.node.serviceCidrs = step.cidrs
        return false
      case 'node ports': {
        const { settings } = this.node.state
        this.node.state = { settings, nodePortIps: settings.limitsNodePorts ? step.ips : [] }
        return false
      }
      case 'settings':
        this.node.state = step.state
        return false
      case 'restart': {
        const { table, state, serviceCidrs } = this.node
        this.node = new ProxiedNode({ plan: this.#plan, table, state })
        this.node.serviceCidrs = serviceCidrs
        return true
      }
      case 'full sync':
        return true
      case 'damage':
        await applyDamage(this.node.table, step.damage)
        return true
      default:
        return step satisfies never
    }
  }

  async fromScratch(): Promise<readonly string[]> {
    const { state, serviceCidrs } = this.node
    const fresh = new ProxiedNode({ plan: this.#plan, state })
    fresh.serviceCidrs = serviceCidrs
    await fresh.sync(this.#routes, { full: true })
    return fresh.table.contents()
  }
}
