/** Chooses the endpoint of a new connection: the one the client used before, or as the Service wants it balanced. */
import type { Clock } from '../../../core/clock.ts'
import { hostPort } from '../../../net/ip.ts'
import { ClientAffinity } from './client-affinity.ts'
import type { Balancing, PoolEndpoint, SocketAddress } from '../relay.ts'
import { Spread, type Candidate } from './spread.ts'

export interface Choice {
  readonly endpoint: SocketAddress
  /** `ip:port`: names the endpoint in `failed` and `succeeded`. */
  readonly name: string
  readonly because: 'turn' | 'affinity'
  /** Whoever has it is connected or on the way, until this is called. */
  leave(this: void): void
}

/**
 * An endpoint that refused is tried last for 5 seconds per failure in a row, at most a minute, but it is still tried.
 */
const avoidMs = { perFailure: 5_000, most: 60_000 } as const

interface Member extends Candidate {
  readonly endpoint: SocketAddress
  weight: number
  open: number
  /** In a row. */
  failures: number
  avoidUntilMs: number
}

export class Balancer {
  readonly #clock: Clock
  readonly #random: () => number
  readonly #affinity: ClientAffinity
  readonly #spread: Spread<Member>
  #membersByName: ReadonlyMap<string, Member> = new Map()
  /** Endpoints that were removed and still have connections. */
  readonly #departedByName = new Map<string, Member>()

  constructor({ clock, random }: { readonly clock: Clock; readonly random: () => number }) {
    this.#clock = clock
    this.#random = random
    this.#affinity = new ClientAffinity(clock)
    this.#spread = new Spread(random)
  }

  get names(): readonly string[] {
    return this.#spread.order.map(({ name }) => name)
  }

  get stickyClients(): number {
    return this.#affinity.size
  }

  has(name: string): boolean {
    return this.#membersByName.has(name)
  }

  /** Returns the endpoints that are no longer there. The same endpoints in another order change nothing. */
  update(
    endpoints: readonly PoolEndpoint[],
    affinitySeconds: number,
    balancing: Balancing = 'round-robin',
  ): ReadonlySet<string> {
    this.#affinity.setTimeoutSeconds(affinitySeconds)
    const before = this.#membersByName
    const next = new Map(endpoints.map((endpoint) => this.#memberFor(endpoint)))
    const gone = new Set([...before.keys()].filter((name) => !next.has(name)))
    if (gone.size === 0 && next.size === before.size) {
      this.#spread.reweigh(balancing)
      return gone
    }
    this.#affinity.forgetEndpoints(gone)
    for (const name of gone) this.#depart(before.get(name))
    this.#membersByName = next
    // Nodes that learn of a change together must not all begin with the same endpoint.
    this.#spread.replace(shuffled([...next.values()], this.#random), balancing)
    return gone
  }

  next(client: SocketAddress): Choice | undefined {
    const sticky = this.#affinity.find(client.ip)
    const member = sticky === undefined ? this.#choose(client) : this.#membersByName.get(sticky)
    if (member === undefined) return undefined
    const { name, endpoint } = member
    this.#affinity.remember(client.ip, name)
    member.open++
    return {
      endpoint,
      name,
      because: sticky === undefined ? 'turn' : 'affinity',
      leave: () => {
        member.open--
        if (member.open === 0 && this.#departedByName.get(name) === member) this.#departedByName.delete(name)
      },
    }
  }

  /** The endpoint did not answer: this client is free to go elsewhere, and others try it last for a while. */
  failed(name: string, clientIp: string): void {
    this.#affinity.forget(clientIp, name)
    const member = this.#membersByName.get(name)
    if (member === undefined) return
    member.failures++
    const forMs = Math.min(member.failures * avoidMs.perFailure, avoidMs.most)
    member.avoidUntilMs = this.#clock.monotonic() + forMs
  }

  succeeded(name: string): void {
    const member = this.#membersByName.get(name)
    if (member !== undefined) forgetTrouble(member)
  }

  /** When all of them failed lately, all are tried. */
  #choose(client: SocketAddress): Member | undefined {
    const nowMs = this.#clock.monotonic()
    return (
      this.#spread.next(client, ({ avoidUntilMs }) => avoidUntilMs <= nowMs) ?? this.#spread.next(client, () => true)
    )
  }

  /** One that left and is back is the same, with its connections. */
  #memberFor(endpoint: PoolEndpoint): [string, Member] {
    const { ip, port, weight = 1 } = endpoint
    const name = hostPort(ip, port)
    const known = this.#membersByName.get(name) ?? this.#departedByName.get(name)
    this.#departedByName.delete(name)
    if (known === undefined) return [name, { name, endpoint, weight, open: 0, credit: 0, failures: 0, avoidUntilMs: 0 }]
    known.weight = weight
    return [name, known]
  }

  #depart(member: Member | undefined): void {
    if (member === undefined || member.open === 0) return
    forgetTrouble(member)
    this.#departedByName.set(member.name, member)
  }
}

function forgetTrouble(member: Member): void {
  member.failures = 0
  member.avoidUntilMs = 0
}

function shuffled<T>(list: T[], random: () => number): readonly T[] {
  for (let last = list.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1))
    const moved = list[last]
    const taken = list[other]
    if (moved === undefined || taken === undefined) continue
    list[last] = taken
    list[other] = moved
  }
  return list
}
