/** The pools that the native engine knows, by the numbers it knows them by; each lives as long as a listener has it. */
import type { PoolSpec } from '../relay.ts'
import type { EngineProcess } from './engine-process.ts'

interface Held {
  readonly number: number
  /** What the engine was told last. */
  told: string
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

  /** The number of the pool of that id; the engine has the contents of the spec before it does anything else. */
  acquire(spec: PoolSpec): number {
    const held = this.#heldById.get(spec.id) ?? this.#add(spec.id)
    held.holders++
    const contents = wordsOf(spec).join(' ')
    if (held.told !== contents) void this.#engine.ask('pool', held.number, contents).catch(() => {})
    held.told = contents
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
    const held = { number: this.#free.pop() ?? this.#heldById.size, told: '', holders: 0 }
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
