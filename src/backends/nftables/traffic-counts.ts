/**
 * How many connections each route and each endpoint got, and how many found no endpoint. The kernel counts per element,
 * and forgets when an element gets another value, as it does when a Service has more or fewer endpoints; so what an
 * element has counted is read before it goes.
 */
import type { NodeView } from '../../core/backend.ts'
import { KeptTraffic } from '../../core/kept-traffic.ts'
import type { RouteKey } from '../../core/route.ts'
import { addTraffic } from '../../core/traffic.ts'
import type { RouteTraffic } from '../../core/traffic.ts'
import type { FoundElement, NftTable, NftTransaction } from '../../dataplane/nft/nft.ts'
import { nextTurn } from '../../dataplane/next-turn.ts'
import { hostPort } from '../../net/ip.ts'
import type { ContainerName, Containers } from './containers.ts'
import { ownerOf } from './element-owners.ts'
import type { ElementOwners } from './element-owners.ts'
import { addressMaps, nodePortMaps, rangeMaps } from './entrance-maps.ts'
import type { EntranceMaps, Limit } from './entrance-maps.ts'

/** A large cluster has hundreds of thousands: others have their turn in between. */
const elementsPerTurn = 2_000

/** An element of such a container counts for the route that has the address. */
interface Counting {
  readonly container: ContainerName
  readonly ownerOf: (owners: ElementOwners, key: string) => RouteKey | undefined
  readonly traffic: (element: FoundElement) => RouteTraffic
}

const counting = [addressMaps, nodePortMaps, rangeMaps].flatMap(countingAt)
const countingEndpoints = [addressMaps, nodePortMaps].flatMap(countingEndpointsAt)

export interface TrafficCountsOptions {
  readonly table: NftTable
  readonly containers: Containers
  /** Whether the elements of endpoints have counters in this table. */
  readonly countsEndpoints: () => boolean
}

/** It outlives the plans: nobody may see a counter go back because a sync failed. */
export class TrafficCounts {
  readonly #options: TrafficCountsOptions
  readonly #kept = new KeptTraffic()

  constructor(options: TrafficCountsOptions) {
    this.#options = options
  }

  /** The owners change with the elements. */
  read(owners: () => ElementOwners, signal: AbortSignal): Promise<ReadonlyMap<RouteKey, RouteTraffic>> {
    return this.#kept.withNow(() => this.#readNow(owners(), signal))
  }

  async #readNow(owners: ElementOwners, signal: AbortSignal): Promise<ReadonlyMap<RouteKey, RouteTraffic>> {
    const sums = new Map<RouteKey, RouteTraffic>()
    for (const each of this.#counting) {
      const found = await this.#options.table.elements(this.#options.containers[each.container], signal)
      let count = 0
      for (const [key, element] of found) {
        add(sums, each.ownerOf(owners, key), each.traffic(element))
        if (++count % elementsPerTurn === 0) await nextTurn()
      }
    }
    return sums
  }

  /** What the elements have counted that the transactions delete, by the routes that have them until then. */
  async countsToKeep(
    transactions: readonly NftTransaction[],
    owners: ElementOwners,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<RouteKey, RouteTraffic>> {
    const sums = new Map<RouteKey, RouteTraffic>()
    for (const each of this.#counting) {
      const keys = keysDeletedFrom(each.container, transactions)
      if (keys?.length === 0) continue
      const found = await this.#options.table.elements(this.#options.containers[each.container], signal, keys)
      for (const key of keys ?? found.keys()) {
        const element = found.get(key)
        if (element !== undefined) add(sums, each.ownerOf(owners, key), each.traffic(element))
      }
    }
    return sums
  }

  /** Once the elements are gone. */
  keep(counts: ReadonlyMap<RouteKey, RouteTraffic>): void {
    this.#kept.keep(counts)
  }

  /** What is gone from the routes that were synced. */
  forget(keys: readonly RouteKey[], view: NodeView): void {
    this.#kept.forget(keys, view)
  }

  get #counting(): readonly Counting[] {
    return this.#options.countsEndpoints() ? [...counting, ...countingEndpoints] : counting
  }
}

function countingAt({ services, noEndpoints, refused }: EntranceMaps): readonly Counting[] {
  const ownerOfAddress: Counting['ownerOf'] = (owners, key) => ownerOf(owners, { container: services, key })
  return [
    {
      container: services,
      ownerOf: ownerOfAddress,
      traffic: ({ packets }) => ({ connections: packets, turnedAway: { 'no-endpoint': 0 } }),
    },
    {
      container: noEndpoints,
      ownerOf: (owners, key) => ownerOf(owners, { container: noEndpoints, key }),
      traffic: ({ packets }) => ({ connections: 0, turnedAway: { 'no-endpoint': packets } }),
    },
    ...Object.entries(refused).map(([limit, container]): Counting => ({
      container,
      ownerOf: ownerOfAddress,
      // They were counted at the address, before anybody looked at the limits.
      traffic: ({ packets }) => ({ connections: -packets, turnedAway: { [reasons[limit as Limit]]: packets } }),
    })),
  ]
}

/** As the annotations are named. */
const reasons: Readonly<Record<Limit, string>> = { connections: 'max-connections', dials: 'max-dials-per-second' }

/** Whoever has the address has its endpoints. Those of ranges have no port of their own, and no counters. */
function countingEndpointsAt({ services, endpoints, localEndpoints }: EntranceMaps): readonly Counting[] {
  return [endpoints, localEndpoints].map((container) => ({
    container,
    ownerOf: (owners, key) => ownerOf(owners, { container: services, key: withoutIndex(key) }),
    traffic: ({ value, packets }) => ({ endpoints: new Map([[addressOf(value), { connections: packets }]]) }),
  }))
}

/** `10.96.0.1 . tcp . 80 . 2` is endpoint 2 of `10.96.0.1 . tcp . 80`. */
function withoutIndex(key: string): string {
  return key.slice(0, key.lastIndexOf(' . '))
}

function addressOf(value: string): string {
  const [ip = '', port] = value.split(' . ')
  return hostPort(ip, Number(port))
}

/** Undefined: all of them. */
function keysDeletedFrom(
  container: ContainerName,
  transactions: readonly NftTransaction[],
): readonly string[] | undefined {
  const keys: string[] = []
  for (const operation of transactions.flat()) {
    if (operation.do === 'delete table') return undefined
    if (operation.do === 'delete elements' && operation.set.name === container)
      for (const key of operation.keys) keys.push(key)
  }
  return keys
}

function add(sums: Map<RouteKey, RouteTraffic>, owner: RouteKey | undefined, traffic: RouteTraffic): void {
  if (owner !== undefined) sums.set(owner, addTraffic(sums.get(owner), traffic))
}
