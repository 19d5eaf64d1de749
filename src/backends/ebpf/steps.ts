/** What is done to the tables, as data: one step is one call. */
import type { PackedEntries } from '../../dataplane/ebpf/packed-entries.ts'
import { newMemory } from './memory.ts'
import type { Memory } from './memory.ts'
import type { MapName } from './layout.ts'

export type Step =
  /** What no program looks at yet. */
  | { readonly do: 'fill'; readonly map: MapName; readonly offset: number; readonly bytes: Uint8Array }
  /** At once: a program sees the old word or the new one. */
  | { readonly do: 'store'; readonly map: MapName; readonly offset: number; readonly word: bigint }
  | { readonly do: 'update'; readonly map: MapName; readonly entries: PackedEntries }
  | { readonly do: 'delete'; readonly map: MapName; readonly keys: readonly Uint8Array[] }

export type StoreStep = Extract<Step, { readonly do: 'store' }>

/** Joined as they come: what lies side by side is one step, and thousands of records need no memory of their own. */
export class Fills {
  readonly #runs: Run[] = []
  readonly #lastByMap = new Map<MapName, Run>()

  /** Zeros, to be written to before the next call. */
  add(map: MapName, offset: number, size: number): Filling {
    let run = this.#lastByMap.get(map)
    if (run === undefined || run.offset + run.length !== offset) {
      run = { map, offset, memory: newMemory(size), at: 0, length: 0 }
      this.#lastByMap.set(map, run)
      this.#runs.push(run)
    } else if (run.length + size > run.memory.bytes.length) {
      const larger = newMemory(2 * (run.length + size))
      run.memory.bytes.copy(larger.bytes)
      run.memory = larger
    }
    run.at = run.length
    run.length += size
    return run
  }

  get steps(): readonly Step[] {
    return this.#runs.map(({ map, offset, memory, length }) => ({
      do: 'fill',
      map,
      offset,
      bytes: memory.bytes.subarray(0, length),
    }))
  }
}

/** Where the last ones that were added lie. */
export interface Filling {
  readonly memory: Memory
  readonly at: number
}

interface Run extends Filling {
  readonly map: MapName
  readonly offset: number
  memory: Memory
  at: number
  length: number
}
