/**
 * What this process wrote to a hash of the kernel, to be compared with what is there every few seconds. That there is no
 * difference is found out with two sums over all entries, without an object for each of them: syncs wait meanwhile.
 */
import type { MapSpec } from '../../dataplane/ebpf/bpf.ts'
import type { PackedEntries } from '../../dataplane/ebpf/packed-entries.ts'
import { bufferOf } from './layout.ts'

export interface HashDifference {
  readonly key: Buffer
  readonly was: 'was added' | 'was changed' | 'was deleted'
}

export interface HashLook {
  add(part: PackedEntries): void
  /** False also if something was written since the look began: nobody knows then. */
  isSame(): boolean
}

type Sizes = Pick<MapSpec, 'keySize' | 'valueSize'>

export class WrittenHash {
  readonly #sizes: Sizes
  /** As bytes that can be compared. */
  readonly #valuesByKey = new Map<string, string>()
  /** Of all entries, in whatever order they are listed. */
  #sums: Sums = noSums
  #changes = 0

  constructor(sizes: Sizes, entries: PackedEntries) {
    this.#sizes = sizes
    this.update(entries)
  }

  update(entries: PackedEntries): void {
    this.#changes++
    const { keySize, valueSize } = this.#sizes
    const [keys, values] = [bufferOf(entries.keys), bufferOf(entries.values)]
    // Before the keys are looked at: one that comes twice is taken out of the sums again.
    this.#sums = added(this.#sums, sumsOf(this.#sizes, keys, values), 1)
    for (let place = 0; place * keySize < keys.length; place++) {
      const [key, value] = [place * keySize, place * valueSize]
      const name = keys.toString('latin1', key, key + keySize)
      this.#forget(name)
      this.#valuesByKey.set(name, values.toString('latin1', value, value + valueSize))
    }
  }

  delete(keys: readonly Uint8Array[]): void {
    this.#changes++
    for (const key of keys) {
      const name = bufferOf(key).toString('latin1')
      this.#forget(name)
      this.#valuesByKey.delete(name)
    }
  }

  /** To be compared with what is listed part by part. */
  look(): HashLook {
    const changes = this.#changes
    let [count, sums] = [0, noSums]
    return {
      add: ({ keys, values }) => {
        count += keys.length / this.#sizes.keySize
        sums = added(sums, sumsOf(this.#sizes, bufferOf(keys), bufferOf(values)), 1)
      },
      isSame: () => changes === this.#changes && count === this.#valuesByKey.size && areSame(sums, this.#sums),
    }
  }

  /** Undefined: there is none. */
  difference(found: PackedEntries): HashDifference | undefined {
    const [keys, values] = [bufferOf(found.keys), bufferOf(found.values)]
    const isSame =
      keys.length === this.#valuesByKey.size * this.#sizes.keySize &&
      areSame(sumsOf(this.#sizes, keys, values), this.#sums)
    return isSame ? undefined : this.#firstDifference(keys, values)
  }

  #firstDifference(keys: Buffer, values: Buffer): HashDifference | undefined {
    const { keySize, valueSize } = this.#sizes
    const there = new Set<string>()
    for (let place = 0; place * keySize < keys.length; place++) {
      const key = keys.subarray(place * keySize, (place + 1) * keySize)
      const wanted = this.#valuesByKey.get(key.toString('latin1'))
      if (wanted === undefined) return { key, was: 'was added' }
      const value = place * valueSize
      if (wanted !== values.toString('latin1', value, value + valueSize)) return { key, was: 'was changed' }
      there.add(key.toString('latin1'))
    }
    for (const name of this.#valuesByKey.keys())
      if (!there.has(name)) return { key: Buffer.from(name, 'latin1'), was: 'was deleted' }
    return undefined
  }

  #forget(name: string): void {
    const value = this.#valuesByKey.get(name)
    if (value === undefined) return
    const [key, old] = [Buffer.from(name, 'latin1'), Buffer.from(value, 'latin1')]
    this.#sums = added(this.#sums, sumsOf(this.#sizes, key, old), -1)
  }
}

/** Two sums of 32 bits that have nothing in common: nobody damages a table in a way that both of them miss by chance. */
type Sums = readonly [number, number]

const noSums: Sums = [0, 0]

function sumsOf({ keySize, valueSize }: Sizes, keys: Buffer, values: Buffer): Sums {
  let one = 0
  let other = 0
  const count = keys.length / keySize
  for (let place = 0; place < count; place++) {
    let mixed = 0x811c9dc5
    let otherwise = 0x9e3779b9
    for (let at = place * keySize; at < (place + 1) * keySize; at++) {
      mixed = Math.imul(mixed ^ keys[at]!, 0x01000193)
      otherwise = Math.imul(otherwise + keys[at]!, 0x85ebca6b) ^ (otherwise >>> 13)
    }
    for (let at = place * valueSize; at < (place + 1) * valueSize; at++) {
      mixed = Math.imul(mixed ^ values[at]!, 0x01000193)
      otherwise = Math.imul(otherwise + values[at]!, 0x85ebca6b) ^ (otherwise >>> 13)
    }
    one = (one + mixed) | 0
    other = (other + otherwise) | 0
  }
  return [one, other]
}

function added([one, other]: Sums, [first, second]: Sums, sign: 1 | -1): Sums {
  return [(one + sign * first) | 0, (other + sign * second) | 0]
}

function areSame([one, other]: Sums, [first, second]: Sums): boolean {
  return one === first && other === second
}
