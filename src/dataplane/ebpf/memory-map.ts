/** A handle on a map that exists only in memory. */
import type { BpfMap, MapEntry, MapSpec, PackedPart } from './bpf.ts'
import { BpfError } from './bpf-error.ts'
import { assertInside, assertKeySize, assertMapType, assertWord, fullError } from './map-rules.ts'
import type { MapObject } from './memory-kernel.ts'
import { elementOf, packed } from './packed-entries.ts'
import type { PackedEntries } from './packed-entries.ts'

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

  async packedEntries(): Promise<PackedEntries> {
    return packed(this.spec, await this.entries())
  }

  /** One entry each. */
  async packedPart(at?: Uint8Array): Promise<PackedPart> {
    const { keys, values } = await this.packedEntries()
    const { keySize, valueSize } = this.spec
    const place = at === undefined ? 0 : Buffer.from(at).readUInt32LE()
    const isLast = (place + 1) * keySize >= keys.length
    return {
      keys: elementOf(keys, place, keySize),
      values: elementOf(values, place, valueSize),
      next: isLast ? undefined : new Uint8Array(Uint32Array.of(place + 1).buffer),
    }
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

  async update(entries: readonly MapEntry[] | PackedEntries): Promise<void> {
    assertMapType(this.spec, 'add to', 'hash')
    const { keySize, valueSize, maxEntries, name } = this.spec
    const { keys, values } = packed(this.spec, entries)
    const { entriesByKey } = this.object
    for (let place = 0; place * keySize < keys.length; place++) {
      const key = keys.slice(place * keySize, (place + 1) * keySize)
      const text = keyText(key)
      if (!entriesByKey.has(text) && entriesByKey.size >= maxEntries) throw fullError(name, place)
      entriesByKey.set(text, [key, values.slice(place * valueSize, (place + 1) * valueSize)])
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
