/** The numbers by which the native engine knows each pool. A pool lives as long as a listener uses it. */
import { hostPort } from '../../../net/ip.ts'
import type { PoolLimits, PoolSpec } from '../relay.ts'
import { uncountedSlot } from './counter-slots.ts'
import type { EndpointSlots } from './endpoint-slots.ts'
import type { EngineProcess } from './engine-process.ts'

interface Held {
  readonly number: number
  /** What was last sent to the engine. */
  sent: string
  holders: number
}

export class EnginePools {
  readonly #engine: EngineProcess
  readonly #slots: EndpointSlots
  readonly #heldById = new Map<string, Held>()
  readonly #free: number[] = []

  constructor(engine: EngineProcess, slots: EndpointSlots) {
    this.#engine = engine
    this.#slots = slots
  }

  get size(): number {
    return this.#heldById.size
  }

  /** Returns the pool's number. The engine learns the contents before any command that is sent after this. */
  acquire(spec: PoolSpec): number {
    const held = this.#heldById.get(spec.id) ?? this.#add(spec.id)
    held.holders++
    const contents = wordsOf(spec).join(' ')
    if (held.sent !== contents) this.#send(held.number, spec)
    held.sent = contents
    return held.number
  }

  release(id: string): void {
    const held = this.#heldById.get(id)
    if (held === undefined) return
    held.holders--
    if (held.holders > 0) return
    this.#heldById.delete(id)
    this.#slots.drop(id)
    this.#free.push(held.number)
    void this.#engine.ask('drop', held.number).catch(() => {})
  }

  #send(pool: number, spec: PoolSpec): void {
    const { generation, numbers } = this.#slots.update(spec)
    const slotOf = (ip: string, port: number) => numbers.get(hostPort(ip, port)) ?? uncountedSlot
    void this.#engine.ask('pool', pool, generation, ...wordsOf(spec, slotOf)).catch(() => {})
  }

  #add(id: string): Held {
    const held = { number: this.#free.pop() ?? this.#heldById.size, sent: '', holders: 0 }
    this.#heldById.set(id, held)
    return held
  }
}

function wordsOf(
  { affinitySeconds, whenEmpty, balancing, proxyProtocol, maxConnectionAgeMs = 0, limits, endpoints }: PoolSpec,
  slotOf: (ip: string, port: number) => number = () => uncountedSlot,
) {
  // An endpoint that is named twice has one turn, as in the other engines.
  const unique = new Map(
    endpoints.map(({ ip, port, isHere, weight = 1 }) => [
      `${ip} ${port}`,
      `${isHere === true ? 'here' : 'elsewhere'} ${weight} ${slotOf(ip, port)}`,
    ]),
  )
  const how = [affinitySeconds, whenEmpty, balancing ?? 'round-robin', proxyProtocol ?? 'none', maxConnectionAgeMs]
  return [...how, wordOf(limits), ...[...unique].flat()]
}

function wordOf(limits: PoolLimits | undefined): string {
  if (limits === undefined) return '-'
  const {
    sharedAs,
    connections = 0,
    connectionsPerEndpoint = 0,
    dialsPerSecond = 0,
    dialsPerSecondPerEndpoint = 0,
  } = limits
  return [sharedAs, connections, connectionsPerEndpoint, dialsPerSecond, dialsPerSecondPerEndpoint].join(',')
}
