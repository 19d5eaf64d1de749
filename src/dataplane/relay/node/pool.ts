/** The endpoints of one pool, which several listeners may share. */
import { Balancer, type Choice } from './balancer.ts'
import type { Gate, Gates } from './gate.ts'
import type { RelayParts } from './relay-parts.ts'
import type { EndpointCounters } from '../endpoint-counters.ts'
import { PoolCounters } from '../pool-counters.ts'
import type { EndpointCounts, Full, PoolSpec, SocketAddress } from '../relay.ts'
import { WaitingLine } from './waiting-line.ts'

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
  /** Who waits for room under the limits of the Service. */
  readonly line: WaitingLine<Choice | undefined>
  readonly #gates: Gates
  #gate: Gate | undefined
  #spec: PoolSpec

  constructor(spec: PoolSpec, parts: RelayParts, gates: Gates, cells?: readonly Float64Array[]) {
    this.id = spec.id
    this.#spec = spec
    this.line = new WaitingLine(parts)
    this.#gates = gates
    this.#balancer = new Balancer(parts)
    this.#balancer.update(spec.endpoints, spec.affinitySeconds, spec.balancing)
    this.#counters.update(spec.endpoints, cells)
    this.#followLimits(spec)
  }

  /** Nobody holds it any more; connections may still be open. */
  close(): void {
    if (this.#gate !== undefined) this.#gates.release(this.#gate)
  }

  #followLimits({ limits }: PoolSpec): void {
    const before = this.#gate
    this.#gate = limits && this.#gates.acquire(limits)
    this.#balancer.limitBy(this.#gate)
    if (before !== undefined) this.#gates.release(before)
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

  get maxConnectionAgeMs(): PoolSpec['maxConnectionAgeMs'] {
    return this.#spec.maxConnectionAgeMs
  }

  get names(): readonly string[] {
    return this.#balancer.names
  }

  update(spec: PoolSpec, cells?: readonly Float64Array[]): void {
    const hasOtherAge = spec.maxConnectionAgeMs !== this.#spec.maxConnectionAgeMs
    this.#spec = spec
    this.#counters.update(spec.endpoints, cells)
    const gone = this.#balancer.update(spec.endpoints, spec.affinitySeconds, spec.balancing)
    this.#followLimits(spec)
    if (gone.size > 0) for (const user of this.users) user.endpointsLeft()
    if (hasOtherAge) for (const user of this.users) user.ageChanged()
  }

  has(name: string): boolean {
    return this.#balancer.has(name)
  }

  hasOnly(name: string): boolean {
    return this.names.length <= 1 && this.has(name)
  }

  next(client: SocketAddress): Choice | Full | undefined {
    return this.#balancer.next(client)
  }

  /** Whether the endpoint is tried last from now on, and was not before. */
  failed(name: string, client: string): boolean {
    return this.#balancer.failed(name, client)
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
