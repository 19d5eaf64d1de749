/**
 * Which slot each endpoint of each pool is counted in. The engine says when nobody counts in a slot any more, which may
 * be long after the endpoint has left. If it has come back before that is heard, it is another generation.
 */
import { hostPort } from '../../../net/ip.ts'
import type { EndpointCounts, PoolSpec } from '../relay.ts'
import type { CounterSlots } from './counter-slots.ts'

interface Slot {
  readonly number: number
  generation: number
}

interface PoolSlots {
  /** In the pool. */
  present: Map<string, Slot>
  /** They have left, and the engine may still count in their slots. */
  readonly departed: Map<string, Slot>
}

export class EndpointSlots {
  readonly #slots: CounterSlots
  readonly #poolsById = new Map<string, PoolSlots>()
  /** Slots in use, and who must forget them. */
  readonly #usedByNumber = new Map<number, { readonly slot: Slot; readonly name: string; readonly pool: PoolSlots }>()
  #generation = 0

  constructor(slots: CounterSlots) {
    this.#slots = slots
  }

  /** The slot of each endpoint, by name, and the generation of this list. */
  update({ id, endpoints }: PoolSpec): { readonly generation: number; readonly numbers: ReadonlyMap<string, number> } {
    const generation = ++this.#generation
    const pool = this.#poolsById.get(id) ?? { present: new Map<string, Slot>(), departed: new Map<string, Slot>() }
    this.#poolsById.set(id, pool)
    const before = pool.present
    pool.present = new Map()
    for (const { ip, port } of endpoints) {
      const name = hostPort(ip, port)
      const slot = before.get(name) ?? this.#bring(pool, name, generation)
      if (slot !== undefined) pool.present.set(name, slot)
    }
    for (const [name, slot] of before) if (!pool.present.has(name)) pool.departed.set(name, slot)
    return { generation, numbers: new Map([...pool.present].map(([name, { number }]) => [name, number])) }
  }

  /** The engine still has its endpoints until their last connection has ended. */
  drop(id: string): void {
    this.#poolsById.delete(id)
  }

  left(number: number, generation: number): void {
    const used = this.#usedByNumber.get(number)
    if (used?.slot.generation !== generation) return // It has come back meanwhile.
    for (const slots of [used.pool.present, used.pool.departed])
      if (slots.get(used.name) === used.slot) slots.delete(used.name)
    this.#usedByNumber.delete(number)
    this.#slots.giveBackEndpoint(number)
  }

  /** The engine has died, its connections with it. What is in a pool comes back in the next one. */
  startOver(): void {
    const kept = new Set<Slot>()
    for (const pool of this.#poolsById.values()) {
      pool.departed.clear()
      for (const [name, slot] of pool.present) {
        this.#slots.forgetActiveEndpoint(slot.number)
        pool.departed.set(name, slot)
        kept.add(slot)
      }
      pool.present = new Map()
    }
    for (const [number, { slot }] of this.#usedByNumber) if (!kept.has(slot)) this.left(number, slot.generation)
  }

  counts(id: string): ReadonlyMap<string, EndpointCounts> {
    const pool = this.#poolsById.get(id)
    if (pool === undefined) return new Map<string, EndpointCounts>()
    const read = ([name, { number }]: [string, Slot]) => [name, this.#slots.readEndpoint(number).snapshot()] as const
    return new Map([...pool.present, ...pool.departed].map(read))
  }

  /** Undefined when there is no slot left. */
  #bring(pool: PoolSlots, name: string, generation: number): Slot | undefined {
    const back = pool.departed.get(name)
    if (back !== undefined) {
      pool.departed.delete(name)
      back.generation = generation
      return back
    }
    const number = this.#slots.takeEndpoint()
    if (number === undefined) return undefined
    const slot = { number, generation }
    this.#usedByNumber.set(number, { slot, name, pool })
    return slot
  }
}
