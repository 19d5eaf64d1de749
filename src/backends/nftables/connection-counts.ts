/**
 * How many connections each route got. The kernel counts per element, and forgets when an element gets another value,
 * as it does when a Service has more or fewer endpoints; so what an element has counted is read before it goes.
 */
import type { RouteKey } from '../../core/route.ts'
import type { NftTable, NftTransaction } from '../../dataplane/nft/nft.ts'
import type { Transfer } from './claims.ts'
import type { ContainerName, Containers } from './containers.ts'

type OwnerOf = (element: { readonly container: ContainerName; readonly key: string }) => RouteKey | undefined

const counting = ['services', 'nodeports'] as const satisfies readonly ContainerName[]

export class ConnectionCounts {
  readonly #table: NftTable
  readonly #containers: Containers
  readonly #kept = new Map<RouteKey, number>()

  constructor(table: NftTable, containers: Containers) {
    this.#table = table
    this.#containers = containers
  }

  async read(ownerOf: OwnerOf, signal: AbortSignal): Promise<ReadonlyMap<RouteKey, number>> {
    const counts = new Map<RouteKey, number>()
    for (const container of counting)
      for (const [key, { packets }] of await this.#table.elements(this.#containers[container], signal))
        add(counts, ownerOf({ container, key }), packets)
    for (const key of counts.keys()) add(counts, key, this.#kept.get(key) ?? 0)
    return counts
  }

  /** Call it before the transaction is carried out. A count stays with whoever had the element until now. */
  async keep(transaction: NftTransaction, transfers: readonly Transfer[], signal: AbortSignal): Promise<void> {
    for (const container of counting) {
      const keys = transaction.flatMap((operation) =>
        operation.do === 'delete elements' && operation.set.name === container ? operation.keys : [],
      )
      if (keys.length === 0) continue
      const found = await this.#table.elements(this.#containers[container], signal, keys)
      const owners = new Map(transfers.filter((it) => it.container === container).map(({ key, from }) => [key, from]))
      for (const key of keys) add(this.#kept, owners.get(key), found.get(key)?.packets ?? 0)
    }
  }

  /** The route is gone. */
  forget(key: RouteKey): void {
    this.#kept.delete(key)
  }
}

function add(counts: Map<RouteKey, number>, owner: RouteKey | undefined, packets: number): void {
  if (owner !== undefined) counts.set(owner, (counts.get(owner) ?? 0) + packets)
}
