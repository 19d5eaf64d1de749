/**
 * How many connections each route got. The kernel counts per element, and forgets when an element gets another value, as
 * it does when a Service has more or fewer endpoints; so what an element has counted is read before it goes.
 */
import type { RouteKey } from '../../core/route.ts'
import type { NftTable, NftTransaction } from '../../dataplane/nft/nft.ts'
import type { ContainerName, Containers } from './containers.ts'
import { ownerOf } from './element-owners.ts'
import type { ElementOwners } from './element-owners.ts'

const counting = ['services', 'nodeports'] as const satisfies readonly ContainerName[]

/** It outlives the plans: nobody may see a counter go back because a sync failed. */
export class ConnectionCounts {
  readonly #table: NftTable
  readonly #containers: Containers
  /** Of elements that are gone. */
  readonly #kept = new Map<RouteKey, number>()

  constructor(table: NftTable, containers: Containers) {
    this.#table = table
    this.#containers = containers
  }

  async read(owners: ElementOwners, signal: AbortSignal): Promise<ReadonlyMap<RouteKey, number>> {
    const counts = new Map<RouteKey, number>()
    for (const container of counting)
      for (const [key, { packets }] of await this.#table.elements(this.#containers[container], signal))
        add(counts, ownerOf(owners, { container, key }), packets)
    for (const key of counts.keys()) add(counts, key, this.#kept.get(key) ?? 0)
    return counts
  }

  /** What the elements have counted that the transactions delete, by the routes that have them until then. */
  async countsToKeep(
    transactions: readonly NftTransaction[],
    owners: ElementOwners,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<RouteKey, number>> {
    const counts = new Map<RouteKey, number>()
    for (const container of counting) {
      const keys = keysDeletedFrom(container, transactions)
      if (keys?.length === 0) continue
      const found = await this.#table.elements(this.#containers[container], signal, keys)
      for (const key of keys ?? found.keys())
        add(counts, ownerOf(owners, { container, key }), found.get(key)?.packets ?? 0)
    }
    return counts
  }

  /** Once the elements are gone. */
  keep(counts: ReadonlyMap<RouteKey, number>): void {
    for (const [key, packets] of counts) add(this.#kept, key, packets)
  }

  /** The route is gone. */
  forget(key: RouteKey): void {
    this.#kept.delete(key)
  }
}

/** Undefined: all of them. */
function keysDeletedFrom(
  container: ContainerName,
  transactions: readonly NftTransaction[],
): readonly string[] | undefined {
  const keys: string[] = []
  for (const operation of transactions.flat()) {
    if (operation.do === 'delete table') return undefined
    if (operation.do === 'delete elements' && operation.set.name === container) keys.push(...operation.keys)
  }
  return keys
}

function add(counts: Map<RouteKey, number>, owner: RouteKey | undefined, packets: number): void {
  if (owner !== undefined) counts.set(owner, (counts.get(owner) ?? 0) + packets)
}
