/** Chooses the endpoint of a new connection: the one the client used before, or as the Service wants it balanced. */
import type { Clock } from '../../../core/clock.ts'
import { hostPort } from '../../../net/ip.ts'
import { ClientAffinity } from './client-affinity.ts'
import type { Gate } from './gate.ts'
import type { Balancing, Full, PoolEndpoint, SocketAddress } from '../relay.ts'
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
  #gate: Gate | undefined
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

  /** From now on connections count there, also those that are open. */
  limitBy(gate: Gate | undefined): void {
    if (gate === this.#gate) return
    for (const { name, open } of [...this.#membersByName.values(), ...this.#departedByName.values()]) {
      this.#gate?.remove(name, open)
      gate?.add(name, open)
    }
    this.#gate = gate
  }

  /** Undefined: there are no endpoints. */
  next(client: SocketAddress): Choice | Full | undefined {
    const nowMs = this.#clock.monotonic()
    const full = this.#membersByName.size === 0 ? undefined : this.#gate?.whyFull(nowMs)
    if (full !== undefined) return full
    const known = this.#affinity.find(client.ip)
    const sticky = known !== undefined && this.#gate?.whyEndpointFull(known, nowMs) !== undefined ? undefined : known
    const member = sticky === undefined ? this.#choose(client, nowMs) : this.#membersByName.get(sticky)
    if (member === undefined) return this.#whyNone(nowMs)
    const { name, endpoint } = member
    this.#affinity.remember(client.ip, name)
    member.open++
    this.#gate?.enter(name, nowMs)
    return {
      endpoint,
      name,
      because: sticky === undefined ? 'turn' : 'affinity',
      leave: () => {
        member.open--
        this.#gate?.leave(name)
        if (member.open > 0 || this.#departedByName.get(name) !== member) return
        this.#departedByName.delete(name)
        this.#gate?.remove(name, 0)
      },
    }
  }

  /** The endpoint did not answer: this client is free to go elsewhere, and others try it last for a while. Whether that is new. */
  failed(name: string, clientIp: string): boolean {
    this.#affinity.forget(clientIp, name)
    const member = this.#membersByName.get(name)
    if (member === undefined) return false
    member.failures++
    const forMs = Math.min(member.failures * avoidMs.perFailure, avoidMs.most)
    member.avoidUntilMs = this.#clock.monotonic() + forMs
    return member.failures === 1
  }

  succeeded(name: string): void {
    const member = this.#membersByName.get(name)
    if (member !== undefined) forgetTrouble(member)
  }

  /** When all of them failed lately, all are tried. */
  #choose(client: SocketAddress, nowMs: number): Member | undefined {
    const gate = this.#gate
    const hasRoom = ({ name }: Member) => gate?.whyEndpointFull(name, nowMs) === undefined
    return (
      this.#spread.next(client, (member) => member.avoidUntilMs <= nowMs && hasRoom(member)) ??
      this.#spread.next(client, hasRoom)
    )
  }

  #whyNone(nowMs: number): Full | undefined {
    const whys = Array.from(this.#membersByName.keys(), (name) => this.#gate?.whyEndpointFull(name, nowMs))
    return whys.find((why) => why === 'max-dials-per-second') ?? whys[0]
  }

  /** One that left and is back is the same, with its connections. */
  #memberFor(endpoint: PoolEndpoint): [string, Member] {
    const { ip, port, weight = 1 } = endpoint
    const name = hostPort(ip, port)
    const known = this.#membersByName.get(name) ?? this.#departedByName.get(name)
    this.#departedByName.delete(name)
    if (known === undefined) this.#gate?.add(name, 0)
    if (known === undefined) return [name, { name, endpoint, weight, open: 0, credit: 0, failures: 0, avoidUntilMs: 0 }]
    known.weight = weight
    return [name, known]
  }

  #depart(member: Member | undefined): void {
    if (member === undefined) return
    if (member.open === 0) return this.#gate?.remove(member.name, 0)
    forgetTrouble(member)
    member.credit = 0 // In another proportion when it is back.
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
