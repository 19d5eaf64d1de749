/** Chooses the endpoint of a new connection: the one the client used before, or as the Service wants it balanced. */
import type { Clock } from '../../../core/clock.ts'
import { hostPort } from '../../../net/ip.ts'
import { ClientAffinity } from './client-affinity.ts'
import type { Balancing, SocketAddress } from '../relay.ts'

export interface Choice {
  readonly endpoint: SocketAddress
  /** `ip:port`: names the endpoint in `failed` and `succeeded`. */
  readonly name: string
  readonly because: 'turn' | 'affinity'
}

/**
 * An endpoint that refused is tried last for 5 seconds per failure in a row, at most a minute, but it is still tried.
 */
const avoidMs = { perFailure: 5_000, most: 60_000 } as const

export class Balancer {
  readonly #clock: Clock
  readonly #random: () => number
  readonly #affinity: ClientAffinity
  readonly #troubleByName = new Map<string, { failures: number; avoidUntilMs: number }>()
  #endpointsByName: ReadonlyMap<string, SocketAddress> = new Map()
  /** In the order of their turns. */
  #order: readonly string[] = []
  #turn = 0
  #balancing: Balancing = 'round-robin'
  /** Includes endpoints that were removed and still have connections. */
  readonly #openByName = new Map<string, number>()

  constructor({ clock, random }: { readonly clock: Clock; readonly random: () => number }) {
    this.#clock = clock
    this.#random = random
    this.#affinity = new ClientAffinity(clock)
  }

  get names(): readonly string[] {
    return this.#order
  }

  get stickyClients(): number {
    return this.#affinity.size
  }

  has(name: string): boolean {
    return this.#endpointsByName.has(name)
  }

  /** Returns the endpoints that are no longer there. The same endpoints in another order change nothing. */
  update(
    endpoints: readonly SocketAddress[],
    affinitySeconds: number,
    balancing: Balancing = 'round-robin',
  ): ReadonlySet<string> {
    this.#balancing = balancing
    this.#affinity.setTimeoutSeconds(affinitySeconds)
    const next = new Map(endpoints.map((endpoint) => [hostPort(endpoint.ip, endpoint.port), endpoint]))
    const gone = new Set(this.#order.filter((name) => !next.has(name)))
    if (gone.size === 0 && next.size === this.#order.length) return gone
    this.#affinity.forgetEndpoints(gone)
    for (const name of gone) this.#troubleByName.delete(name)
    this.#endpointsByName = next
    // Nodes that learn of a change together must not all begin with the same endpoint.
    this.#order = shuffled([...next.keys()], this.#random)
    this.#turn = 0
    return gone
  }

  next(client: string): Choice | undefined {
    const sticky = this.#affinity.find(client)
    const name = sticky ?? this.#choose()
    const endpoint = name === undefined ? undefined : this.#endpointsByName.get(name)
    if (name === undefined || endpoint === undefined) return undefined
    this.#affinity.remember(client, name)
    return { endpoint, name, because: sticky === undefined ? 'turn' : 'affinity' }
  }

  /** The endpoint did not answer: this client is free to go elsewhere, and others try it last for a while. */
  failed(name: string, client: string): void {
    this.#affinity.forget(client, name)
    if (!this.has(name)) return
    const failures = (this.#troubleByName.get(name)?.failures ?? 0) + 1
    const forMs = Math.min(failures * avoidMs.perFailure, avoidMs.most)
    this.#troubleByName.set(name, { failures, avoidUntilMs: this.#clock.monotonic() + forMs })
  }

  succeeded(name: string): void {
    this.#troubleByName.delete(name)
  }

  opened(name: string): void {
    this.#openByName.set(name, this.#open(name) + 1)
  }

  closed(name: string): void {
    const left = this.#open(name) - 1
    if (left > 0) this.#openByName.set(name, left)
    else this.#openByName.delete(name)
  }

  #choose(): string | undefined {
    switch (this.#balancing) {
      case 'round-robin':
        return this.#takeTurn()
      case 'random':
        this.#turn = Math.floor(this.#random() * this.#order.length)
        return this.#takeTurn()
      case 'least-connections':
        this.#turn = this.#leastBusy()
        return this.#takeTurn()
      default:
        return this.#balancing satisfies never
    }
  }

  /** A tie goes to the one whose turn it is. */
  #leastBusy(): number {
    const count = this.#order.length
    let best = this.#turn
    let fewest = Infinity
    for (let step = 0; step < count; step++) {
      const index = (this.#turn + step) % count
      const name = this.#order[index] ?? ''
      const open = this.#open(name)
      if (open >= fewest || this.#isAvoided(name)) continue
      best = index
      fewest = open
    }
    return best
  }

  #open(name: string): number {
    return this.#openByName.get(name) ?? 0
  }

  #takeTurn(): string | undefined {
    const count = this.#order.length
    for (let step = 0; step < count; step++) {
      const name = this.#order[(this.#turn + step) % count]
      if (name === undefined || this.#isAvoided(name)) continue
      this.#turn = (this.#turn + step + 1) % count
      return name
    }
    // All of them failed lately, so it goes by turn.
    const name = this.#order[this.#turn]
    this.#turn = count === 0 ? 0 : (this.#turn + 1) % count
    return name
  }

  #isAvoided(name: string): boolean {
    const trouble = this.#troubleByName.get(name)
    return trouble !== undefined && trouble.avoidUntilMs > this.#clock.monotonic()
  }
}

function shuffled(names: string[], random: () => number): readonly string[] {
  for (let last = names.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1))
    const moved = names[last]
    const taken = names[other]
    if (moved === undefined || taken === undefined) continue
    names[last] = taken
    names[other] = moved
  }
  return names
}
