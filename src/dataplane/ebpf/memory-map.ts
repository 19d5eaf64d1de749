/** A handle on a map that exists only in memory. */
import type { BpfMap, MapEntry, MapSpec } from './bpf.ts'
import { BpfError } from './bpf-error.ts'
import { assertInside, assertKeySize, assertMapType, assertValueSize, assertWord, fullError } from './map-rules.ts'
import type { MapObject } from './memory-kernel.ts'

export class MemoryMap implements BpfMap {
  readonly spec: MapSpec
  readonly #object: MapObject
  readonly #onClose: () => void
  #isOpen = true

  constructor(object: MapObject, onClose: () => void) {
    this.spec = object.spec
    this.#object = object
    this.#onClose = onClose
  }

  /** What it is a handle on. */
  get object(): MapObject {
    if (!this.#isOpen) throw new BpfError('refused', `cannot use the map "${this.spec.name}": it was let go of (EBADF)`)
    return this.#object
  }

  async entries(): Promise<readonly MapEntry[]> {
    assertMapType(this.spec, 'list', 'hash')
    return [...this.object.entriesByKey.values()].map(copyOf)
  }

  async lookup(keys: readonly Uint8Array[]): Promise<readonly (Uint8Array | undefined)[]> {
    assertMapType(this.spec, 'look into', 'hash')
    for (const key of keys) assertKeySize(this.spec, key)
    const { entriesByKey } = this.object
    return keys.map((key) => {
      const [, value] = entriesByKey.get(keyText(key)) ?? []
      return value && Uint8Array.from(value)
    })
  }

  async update(entries: readonly MapEntry[]): Promise<void> {
    assertMapType(this.spec, 'add to', 'hash')
    for (const [key, value] of entries) {
      assertKeySize(this.spec, key)
      assertValueSize(this.spec, value)
    }
    const { entriesByKey } = this.object
    for (const [index, entry] of entries.entries()) {
      const key = keyText(entry[0])
      if (!entriesByKey.has(key) && entriesByKey.size >= this.spec.maxEntries) throw fullError(this.spec.name, index)
      entriesByKey.set(key, copyOf(entry))
    }
  }

  async delete(keys: readonly Uint8Array[]): Promise<void> {
    assertMapType(this.spec, 'delete from', 'hash')
    for (const key of keys) assertKeySize(this.spec, key)
    for (const key of keys) this.object.entriesByKey.delete(keyText(key))
  }

  get bytes(): Uint8Array {
    assertMapType(this.spec, 'read the memory of', 'array')
    return this.#isOpen ? this.#object.bytes : new Uint8Array()
  }

  async fill(offset: number, bytes: Uint8Array): Promise<void> {
    assertMapType(this.spec, 'fill', 'array')
    assertInside(this.spec, offset, bytes.length)
    this.object.bytes.set(bytes, offset)
  }

  async store(offset: number, word: bigint): Promise<void> {
    assertMapType(this.spec, 'store in', 'array')
    assertWord(this.spec, offset)
    const { buffer, byteOffset } = this.object.bytes
    new DataView(buffer, byteOffset).setBigUint64(offset, word, true)
  }

  [Symbol.dispose](): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.#onClose()
  }
}

export function mapObject(spec: MapSpec): MapObject {
  const bytes = new Uint8Array(spec.type === 'array' ? spec.valueSize * spec.maxEntries : 0)
  return { kind: 'map', spec, entriesByKey: new Map(), bytes }
}

const copyOf = ([key, value]: MapEntry): MapEntry => [Uint8Array.from(key), Uint8Array.from(value)]

const keyText = (key: Uint8Array): string => Buffer.from(key.buffer, key.byteOffset, key.length).toString('latin1')
