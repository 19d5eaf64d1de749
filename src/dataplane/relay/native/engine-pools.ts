/** The numbers by which the native engine knows each pool. A pool lives as long as a listener uses it. */
import type { PoolSpec } from '../relay.ts'
import type { EngineProcess } from './engine-process.ts'

interface Held {
  readonly number: number
  /** What was last sent to the engine. */
  sent: string
  holders: number
}

export class EnginePools {
  readonly #engine: EngineProcess
  readonly #heldById = new Map<string, Held>()
  readonly #free: number[] = []

  constructor(engine: EngineProcess) {
    this.#engine = engine
  }

  get size(): number {
    return this.#heldById.size
  }

  /** Returns the pool's number. The engine learns the contents before any command that is sent after this. */
  acquire(spec: PoolSpec): number {
    const held = this.#heldById.get(spec.id) ?? this.#add(spec.id)
    held.holders++
    const contents = wordsOf(spec).join(' ')
    if (held.sent !== contents) void this.#engine.ask('pool', held.number, contents).catch(() => {})
    held.sent = contents
    return held.number
  }

  release(id: string): void {
    const held = this.#heldById.get(id)
    if (held === undefined) return
    held.holders--
    if (held.holders > 0) return
    this.#heldById.delete(id)
    this.#free.push(held.number)
    void this.#engine.ask('drop', held.number).catch(() => {})
  }

  #add(id: string): Held {
    const held = { number: this.#free.pop() ?? this.#heldById.size, sent: '', holders: 0 }
    this.#heldById.set(id, held)
    return held
  }
}

function wordsOf({ affinitySeconds, whenEmpty, balancing, proxyProtocol, endpoints }: PoolSpec) {
  // An endpoint that is named twice has one turn, as in the other engines.
  const unique = new Map(
    endpoints.map(({ ip, port, isTransparent }) => [`${ip} ${port}`, isTransparent === true ? 'transparent' : 'plain']),
  )
  return [affinitySeconds, whenEmpty, balancing ?? 'round-robin', proxyProtocol ?? 'none', ...[...unique].flat()]
}
