/** The endpoints of one pool, which several listeners may share. */
import type { AgeLimit } from './age-watch.ts'
import { Balancer, type Choice } from './balancer.ts'
import type { RelayParts } from './relay-parts.ts'
import type { EndpointCounters } from '../endpoint-counters.ts'
import { PoolCounters } from '../pool-counters.ts'
import type { EndpointCounts, PoolSpec, SocketAddress } from '../relay.ts'

/** A listener is told when endpoints have left, and when connections may become older or not so old. */
export interface PoolUser {
  endpointsLeft(): void
  ageChanged(): void
}

export class Pool {
  readonly id: string
  readonly users = new Set<PoolUser>()
  readonly #balancer: Balancer
  readonly #counters = new PoolCounters()
  #spec: PoolSpec

  constructor(spec: PoolSpec, parts: RelayParts, cells?: readonly Float64Array[]) {
    this.id = spec.id
    this.#spec = spec
    this.#balancer = new Balancer(parts)
    this.#balancer.update(spec.endpoints, spec.affinitySeconds, spec.balancing)
    this.#counters.update(spec.endpoints, cells)
  }

  get service(): string {
    return this.#spec.service
  }

  get whenEmpty(): PoolSpec['whenEmpty'] {
    return this.#spec.whenEmpty
  }

  get proxyProtocol(): PoolSpec['proxyProtocol'] {
    return this.#spec.proxyProtocol
  }

  /** It makes a difference who the client is. */
  get looksAtClients(): boolean {
    const { affinitySeconds, balancing } = this.#spec
    return affinitySeconds > 0 || balancing === 'source-hash' || balancing === 'maglev'
  }

  /** How old connections to the endpoint may become; undefined: any age. */
  ageLimitFor(endpoint: string): AgeLimit | undefined {
    const ageMs = this.#spec.maxConnectionAgeMs
    if (ageMs === undefined) return undefined
    return { ageMs, hasNowhereToGo: () => this.names.length <= 1 && this.has(endpoint) }
  }

  get names(): readonly string[] {
    return this.#balancer.names
  }

  update(spec: PoolSpec, cells?: readonly Float64Array[]): void {
    const hasOtherAge = spec.maxConnectionAgeMs !== this.#spec.maxConnectionAgeMs
    this.#spec = spec
    this.#counters.update(spec.endpoints, cells)
    const gone = this.#balancer.update(spec.endpoints, spec.affinitySeconds, spec.balancing)
    if (gone.size > 0) for (const user of this.users) user.endpointsLeft()
    if (hasOtherAge) for (const user of this.users) user.ageChanged()
  }

  has(name: string): boolean {
    return this.#balancer.has(name)
  }

  next(client: SocketAddress): Choice | undefined {
    return this.#balancer.next(client)
  }

  failed(name: string, client: string): void {
    this.#balancer.failed(name, client)
  }

  countersOf(name: string): EndpointCounters {
    return this.#counters.of(name)
  }

  endpointCounts(): ReadonlyMap<string, EndpointCounts> {
    return this.#counters.snapshot()
  }

  succeeded(name: string): void {
    this.#balancer.succeeded(name)
  }
}
