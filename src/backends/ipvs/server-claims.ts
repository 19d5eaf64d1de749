/**
 * Who gets a virtual server that several routes want, e.g. because two Services name the same external IP. The kernel
 * has one of each. A cluster IP comes first, then the name decides: the same objects always give the same answer,
 * whatever the order they came in.
 */
import type { RouteKey } from '../../core/route.ts'
import { serverKinds } from './planned-server.ts'
import type { PlannedServer, ServerId } from './planned-server.ts'

export interface Claim {
  readonly key: RouteKey
  readonly server: PlannedServer
}

export class ServerClaims {
  /** Never empty; the best claim is first. Nearly all are alone. */
  readonly #claimsById = new Map<ServerId, readonly Claim[]>()

  get ids(): Iterable<ServerId> {
    return this.#claimsById.keys()
  }

  winner(id: ServerId): Claim | undefined {
    return this.#claimsById.get(id)?.[0]
  }

  losers(id: ServerId): readonly Claim[] {
    return this.#claimsById.get(id)?.slice(1) ?? []
  }

  replace(key: RouteKey, before: readonly PlannedServer[], after: readonly PlannedServer[]): void {
    for (const { id } of before) this.#set(id, this.#othersThan(key, id))
    for (const server of after)
      this.#set(server.id, [...this.#othersThan(key, server.id), { key, server }].sort(byPrecedence))
  }

  #othersThan(key: RouteKey, id: ServerId): readonly Claim[] {
    return this.#claimsById.get(id)?.filter((claim) => claim.key !== key) ?? []
  }

  #set(id: ServerId, claims: readonly Claim[]): void {
    if (claims.length === 0) this.#claimsById.delete(id)
    else this.#claimsById.set(id, claims)
  }
}

function byPrecedence(left: Claim, right: Claim): number {
  const byKind = serverKinds.indexOf(left.server.kind) - serverKinds.indexOf(right.server.kind)
  if (byKind !== 0) return byKind
  return left.key < right.key ? -1 : 1
}
