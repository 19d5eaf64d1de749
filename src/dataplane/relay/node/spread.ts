/**
 * Which endpoint of a pool is next, by algorithm and weight. The native engine does the same in `spread.c`: what depends on
 * the client alone must come out the same there.
 */
import { hash32 } from '../../../core/balance/hash32.ts'
import { maglevTable } from '../../../core/balance/maglev.ts'
import { hostPort } from '../../../net/ip.ts'
import type { Balancing, SocketAddress } from '../relay.ts'

export interface Candidate {
  /** `ip:port`. */
  readonly name: string
  readonly weight: number
  /** Connections. */
  readonly open: number
  /** How far it is behind its share: as much as all weigh together is one connection. */
  credit: number
}

/** Seeds of what is drawn for a client; 1 and 2 are those of the Maglev table. */
const draws = { first: 3, second: 4 } as const

type MayTake<C> = (candidate: C) => boolean
/** A number below 2^32 for each seed. */
type Draw = (seed: number) => number

export class Spread<C extends Candidate> {
  readonly #random: () => number
  #balancing: Balancing = 'round-robin'
  /** In the order of their turns. */
  #order: readonly C[] = []
  #turn = 0
  #totalWeight = 0
  #isEven = true
  /** Made when the first client needs them. */
  #byName: readonly C[] | undefined
  #table: Uint16Array | undefined

  constructor(random: () => number) {
    this.#random = random
  }

  get order(): readonly C[] {
    return this.#order
  }

  /** Other candidates: the turns begin anew. */
  replace(order: readonly C[], balancing: Balancing): void {
    this.#order = order
    this.#turn = 0
    this.reweigh(balancing)
  }

  /** The weights of the candidates may have changed, or how they are balanced. */
  reweigh(balancing: Balancing): void {
    this.#balancing = balancing
    const before = this.#totalWeight
    this.#totalWeight = totalOf(this.#order)
    // What one is behind stays the same part of a connection. Else it would wait, or be preferred, for very long.
    for (const candidate of this.#order)
      candidate.credit = before === 0 ? 0 : Math.trunc((candidate.credit * this.#totalWeight) / before)
    this.#isEven = this.#order.every(({ weight }) => weight === this.#order[0]?.weight)
    this.#byName = undefined
    this.#table = undefined
  }

  /** Undefined when there is none that may be taken. */
  next(client: SocketAddress, mayTake: MayTake<C>): C | undefined {
    switch (this.#balancing) {
      case 'round-robin':
        return this.#isEven ? this.#takeTurn(mayTake) : furthestBehind(this.#order.filter(mayTake))
      case 'least-connections':
        return furthestBehind(leastBusy(this.#order.filter(mayTake)))
      case 'random':
        return this.#drawn(() => Math.floor(this.#random() * 2 ** 32), mayTake)
      case 'source-hash':
        return this.#drawn((seed) => hash32(client.ip, seed), mayTake)
      case 'maglev':
        return this.#inSlot(hash32(hostPort(client.ip, client.port), draws.first), mayTake)
      default:
        return this.#balancing satisfies never
    }
  }

  #takeTurn(mayTake: MayTake<C>): C | undefined {
    const count = this.#order.length
    for (let step = 0; step < count; step++) {
      const candidate = this.#order[(this.#turn + step) % count]
      if (candidate === undefined || !mayTake(candidate)) continue
      this.#turn = (this.#turn + step + 1) % count
      return candidate
    }
    return undefined
  }

  /** Where the drawn one may not be taken, a second draw decides among the others: its clients are shared by all of them. */
  #drawn(draw: Draw, mayTake: MayTake<C>): C | undefined {
    const all = this.#sorted()
    const first = this.#isEven
      ? all[part(draw(draws.first), all.length)]
      : at(all, part(draw(draws.first), this.#totalWeight))
    if (first === undefined || mayTake(first)) return first
    const others = all.filter(mayTake)
    return at(others, part(draw(draws.second), totalOf(others)))
  }

  #inSlot(hash: number, mayTake: MayTake<C>): C | undefined {
    const all = this.#sorted()
    this.#table ??= maglevTable(all.map(({ name, weight }) => ({ address: name, weight })))
    for (let step = 0; step < this.#table.length; step++) {
      const candidate = all[this.#table[(hash + step) % this.#table.length] ?? 0]
      if (candidate === undefined || mayTake(candidate)) return candidate
    }
    return undefined
  }

  /** As every node has them. */
  #sorted(): readonly C[] {
    return (this.#byName ??= this.#order.toSorted((left, right) => (left.name < right.name ? -1 : 1)))
  }
}

/** Smooth weighted round robin: each gains its weight, and the chosen one pays for all. */
function furthestBehind<C extends Candidate>(candidates: readonly C[]): C | undefined {
  let [next] = candidates
  if (next === undefined) return undefined
  for (const candidate of candidates) {
    candidate.credit += candidate.weight
    if (candidate.credit > next.credit) next = candidate
  }
  next.credit -= totalOf(candidates)
  return next
}

/** All that are equally busy, for their weight. */
function leastBusy<C extends Candidate>(candidates: readonly C[]): readonly C[] {
  let [least] = candidates
  if (least === undefined) return candidates
  for (const candidate of candidates) if (compareLoad(candidate, least) < 0) least = candidate
  const fewest = least
  return candidates.filter((candidate) => compareLoad(candidate, fewest) === 0)
}

function compareLoad(left: Candidate, right: Candidate): number {
  return left.open * right.weight - right.open * left.weight
}

/** The part of the whole that a number below 2^32 stands for. */
function part(number: number, whole: number): number {
  return Math.floor((number * whole) / 2 ** 32)
}

function at<C extends Candidate>(candidates: readonly C[], weight: number): C | undefined {
  let passed = 0
  return candidates.find((candidate) => (passed += candidate.weight) > weight)
}

function totalOf(candidates: readonly Candidate[]): number {
  return candidates.reduce((sum, { weight }) => sum + weight, 0)
}
