/** A node with real Routes, and somebody who looks at it. */
import type { ObjectRecord } from '../../../../api/records.ts'
import { Catalog } from '../../../../core/catalog.ts'
import { given } from '../../../../core/explain/testing/given.ts'
import type { World } from '../../../../core/explain/world.ts'
import { silentLogger } from '../../../../core/logger.ts'
import { silentMetrics } from '../../../../core/proxy-metrics.ts'
import type { RouteKey } from '../../../../core/route.ts'
import { RouteTable } from '../../../../core/routing/route-table.ts'
import { ToldNotices } from '../../../../core/routing/told-notices.ts'
import { usualPolicy } from '../../../../core/routing/serving-policy.ts'
import { DriftMemory } from '../../../../core/sync/drift-memory.ts'
import type { SyncTally } from '../../../../core/sync/sync-runner.ts'
import { FakeClock } from '../../../../core/testing/fake-clock.ts'
import type { RouteTraffic } from '../../../../core/traffic.ts'
import { families } from '../../../../net/ip.ts'
import type { Family } from '../../../../net/ip.ts'
import type { SpanRecord } from '../../../../core/trace.ts'
import { TrafficBook } from '../../../traffic/traffic-book.ts'
import type { LiveTopic, Viewer } from '../../live-topic.ts'
import type { LiveEvents, Problem } from '../../wire.ts'
import type { NodeParts, ShownFamily } from '../node-parts.ts'
import { nodeTopics } from '../node-topics.ts'

/** That counts who listens. */
class CountingCatalog extends Catalog {
  listeners = 0

  override subscribe(...args: Parameters<Catalog['subscribe']>): () => void {
    this.listeners++
    const end = super.subscribe(...args)
    return () => {
      this.listeners--
      end()
    }
  }
}

interface FamilyState {
  readonly table: RouteTable
  failed: ReadonlyMap<RouteKey, string>
  tally: SyncTally | undefined
  readonly traffic: Map<RouteKey, RouteTraffic>
}

export class ShownNode {
  readonly clock = new FakeClock()
  readonly catalog = new CountingCatalog()
  readonly notices = new ToldNotices({ log: silentLogger, metrics: silentMetrics, onNotice() {} })
  readonly drift = new DriftMemory(this.clock)
  readonly syncs: SpanRecord[] = []
  readonly states: Readonly<Record<Family, FamilyState>>
  readonly topics: readonly LiveTopic[]
  readonly ownListeners: number
  readings = 0
  source: ReturnType<NodeParts['source']> = { from: 'the API server at https://127.0.0.1:6443', state: 'live' }
  problems: readonly Problem[] = []

  constructor(objects: readonly ObjectRecord[] = []) {
    for (const kind of ['Service', 'EndpointSlice', 'Node', 'ServiceCIDR'] as const)
      this.catalog.replace(
        kind,
        objects.filter((it) => it.kind === kind),
      )
    const state = (family: Family): FamilyState => ({
      table: this.#table(family),
      failed: new Map(),
      tally: undefined,
      traffic: new Map(),
    })
    this.states = { ipv4: state('ipv4'), ipv6: state('ipv6') }
    this.sync()
    this.ownListeners = this.catalog.listeners
    const shown = families.map((family) => this.#shown(family))
    const never = new AbortController().signal
    const sources = families.map((family) => ({
      view: () => this.states[family].table.view,
      traffic: async () => {
        this.readings++
        return new Map(this.states[family].traffic)
      },
    }))
    this.topics = nodeTopics({
      catalog: this.catalog,
      families: shown,
      notices: this.notices,
      drift: this.drift,
      book: new TrafficBook({ sources, clock: this.clock, signal: never, log: silentLogger }),
      history: { last: this.syncs },
      world: () => this.world(),
      source: () => this.source,
      isHealthy: () => true,
      isReady: () => true,
      problems: () => this.problems,
      clock: this.clock,
      log: failingLogger,
    })
  }

  world(): World {
    const world = given([])
    return {
      ...world,
      catalog: this.catalog,
      families: world.families.map((it) => ({ ...it, table: this.states[it.family].table })),
    }
  }

  /** What waits is in the views from now on. */
  sync(): void {
    for (const family of families) this.states[family].table.take({ full: false })
  }

  follow(name: string, viewer: Viewer, ...rest: string[]): Disposable {
    const topic = this.topics.find((it) => it.name === name)
    if (topic === undefined) throw new Error(`there is no topic ${name}`)
    return topic.follow(rest, viewer)
  }

  #table(family: Family): RouteTable {
    return new RouteTable({
      catalog: this.catalog,
      family,
      nodeName: 'here',
      nodeIP: family === 'ipv4' ? '10.200.0.2' : 'fd00:200::2',
      policy: usualPolicy,
      notices: this.notices,
      metrics: silentMetrics,
      startedAtMs: 0,
    })
  }

  #shown(family: Family): ShownFamily {
    const state = this.states[family]
    return {
      family,
      view: () => state.table.view,
      watchView: (viewer) => state.table.watchView(viewer),
      pendingRoutes: () => state.table.pendingRoutes,
      syncs: () => state.tally,
      failedRoutes: () => state.failed,
      notProgrammed: (key) => state.failed.get(key),
    }
  }
}

/** What a topic cannot do is a failure of the test. */
const failingLogger: NodeParts['log'] = {
  ...silentLogger,
  error(message, fields) {
    throw new Error(message, { cause: fields?.['error'] })
  },
}

export class RecordingViewer implements Viewer {
  isBehind = false
  readonly sent: { readonly event: keyof LiveEvents; readonly data: unknown }[] = []

  send<Name extends keyof LiveEvents>(event: Name, data: LiveEvents[Name]): void {
    this.sendText(event, JSON.stringify(data))
  }

  sendText(event: keyof LiveEvents, json: string): void {
    this.sent.push({ event, data: JSON.parse(json) })
  }

  of<Name extends keyof LiveEvents>(event: Name): readonly LiveEvents[Name][] {
    return this.sent.filter((it) => it.event === event).map(({ data }) => data as LiveEvents[Name])
  }
}
