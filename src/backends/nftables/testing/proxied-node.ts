/** A backend on a table in memory, driven as the sync runner drives it. */
import type { NodeView, SyncReport } from '../../../core/backend.ts'
import type { Route, RouteKey } from '../../../core/route.ts'
import { FakeClock } from '../../../core/testing/fake-clock.ts'
import { RecordingLogger } from '../../../core/testing/recording-logger.ts'
import { NftablesBackend } from '../nftables-backend.ts'
import type { NftablesState } from '../settings.ts'
import { addressPlans, viewOf } from '../../../core/testing/random-cluster.ts'
import type { AddressPlan } from '../../../core/testing/random-cluster.ts'
import { RecordingTable } from './recording-table.ts'

export interface ProxiedNodeOptions {
  readonly table?: RecordingTable
  readonly plan?: AddressPlan
  readonly state?: NftablesState
  readonly countsConnections?: (things: number) => boolean
}

export class ProxiedNode {
  readonly table: RecordingTable
  readonly clock = new FakeClock()
  readonly log = new RecordingLogger()
  readonly backend: NftablesBackend
  /** What the backend counted for /metrics. */
  readonly counted = { failedSyncs: 0, failedCleanups: 0 }
  state: NftablesState
  serviceCidrs: readonly string[]
  readonly #plan: AddressPlan
  #programmed: ReadonlyMap<RouteKey, Route> = new Map()

  constructor(options: ProxiedNodeOptions = {}) {
    const { table = new RecordingTable(), plan = addressPlans.ipv4, countsConnections = () => false } = options
    this.#plan = plan
    this.table = table
    this.state = options.state ?? usualState(plan)
    this.serviceCidrs = plan.serviceCidrs.slice(0, 1)
    this.backend = new NftablesBackend({
      family: plan.family,
      table,
      state: () => this.state,
      countsConnections,
      metrics: {
        syncFailed: () => void this.counted.failedSyncs++,
        cleanupFailed: () => void this.counted.failedCleanups++,
      },
      clock: this.clock,
      log: this.log,
    })
  }

  view(routes: ReadonlyMap<RouteKey, Route>): NodeView {
    return viewOf(this.#plan, routes, this.serviceCidrs)
  }

  /** Names what changed since the last sync that succeeded. */
  async sync(
    routes: ReadonlyMap<RouteKey, Route> | readonly Route[],
    { full = false }: { readonly full?: boolean } = {},
  ): Promise<SyncReport> {
    const byKey = new Map([...routes.values()].map((route) => [route.key, route]))
    const all = [...new Set([...this.#programmed.keys(), ...byKey.keys()])]
    const keys = full ? all : all.filter((key) => this.#programmed.get(key) !== byKey.get(key))
    const report = await this.backend.sync(this.view(byKey), { full, keys, causes: [] }, new AbortController().signal)
    this.#programmed = byKey
    return report
  }
}

function usualState({ family, podCidr, node }: AddressPlan): NftablesState {
  return {
    settings: {
      family,
      localTraffic: { kind: 'cidr', cidr: podCidr },
      masqueradeAll: false,
      masqueradeMark: '0x00004000',
      limitsNodePorts: true,
    },
    nodePortIps: node.slice(0, 1),
  }
}
