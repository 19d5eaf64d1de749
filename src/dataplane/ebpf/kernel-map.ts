/** A handle on a map of the kernel. */
import { constants } from 'node:os'
import type { Libc } from '../libc/load-libc.ts'
import { BpfAttributes, bpfCommand } from './bpf-attributes.ts'
import { bpfErrorFrom } from './bpf-error.ts'
import type { BpfMap, MapEntry, MapSpec, PackedPart } from './bpf.ts'
import { Descriptor } from './kernel-handles.ts'
import { assertInside, assertKeySize, assertMapType, assertWord, fullError } from './map-rules.ts'
import { elementOf, packed, unpacked } from './packed-entries.ts'
import type { PackedEntries } from './packed-entries.ts'

const { ENOENT, E2BIG, ENOSPC, EINVAL } = constants.errno
/** The kernel's own: it knows batches, but not for this type of map. */
const ENOTSUPP = 524

/** One call of the kernel. A part takes less than a millisecond. */
const [entriesAtOnce, entriesOfPart] = [4096, 1024]

const elementBytes = 32
const batchBytes = 56

export interface KernelMapOptions {
  readonly libc: Libc
  readonly fd: number
  readonly spec: MapSpec
  /** False as on Linux before 5.6: each entry is a call of its own. */
  readonly hasBatches?: boolean
}

export class KernelMap implements BpfMap {
  readonly spec: MapSpec
  readonly #libc: Libc
  readonly #memory: SharedMemory | undefined
  readonly #descriptor: Descriptor
  #hasBatches: boolean

  /** It takes over the descriptor. Throws if the memory of an array cannot be shared. */
  constructor({ libc, fd, spec, hasBatches = true }: KernelMapOptions) {
    this.spec = spec
    this.#libc = libc
    this.#descriptor = new Descriptor(fd, `the map "${spec.name}"`)
    this.#hasBatches = hasBatches
    this.#memory = spec.type === 'array' ? sharedMemory(libc, fd, spec) : undefined
  }

  get fd(): number {
    return this.#descriptor.number
  }

  /** False once the kernel has refused one. */
  get hasBatches(): boolean {
    return this.#hasBatches
  }

  async entries(): Promise<readonly MapEntry[]> {
    return unpacked(this.spec, await this.packedEntries())
  }

  async packedEntries(): Promise<PackedEntries> {
    assertMapType(this.spec, 'list', 'hash')
    const parts: PackedPart[] = []
    let part: PackedPart | undefined
    do parts.push((part = this.#part(part?.next, entriesAtOnce)))
    while (part.next !== undefined)
    return {
      keys: Buffer.concat(parts.map(({ keys }) => keys)),
      values: Buffer.concat(parts.map(({ values }) => values)),
    }
  }

  async packedPart(at?: Uint8Array): Promise<PackedPart> {
    assertMapType(this.spec, 'list', 'hash')
    return this.#part(at, entriesOfPart)
  }

  async lookup(keys: readonly Uint8Array[]): Promise<readonly (Uint8Array | undefined)[]> {
    assertMapType(this.spec, 'look into', 'hash')
    for (const key of keys) assertKeySize(this.spec, key)
    return keys.map((key) => this.#lookup(Buffer.from(key)))
  }

  async update(entries: readonly MapEntry[] | PackedEntries): Promise<void> {
    assertMapType(this.spec, 'add to', 'hash')
    const { keys, values } = packed(this.spec, entries)
    const { keySize, valueSize } = this.spec
    for (let done = 0; done * keySize < keys.length;) {
      const rest = { keys: keys.subarray(done * keySize), values: values.subarray(done * valueSize) }
      const [errno, count] = this.#hasBatches ? this.#updateBatch(rest) : this.#updateOneByOne(rest)
      done += count
      if (errno === E2BIG) throw fullError(this.spec.name, done)
      if (errno !== 0 && !this.#lacksBatches(errno, count))
        throw bpfErrorFrom(errno, 'update', `add to the map "${this.spec.name}"`, { done })
    }
  }

  async delete(keys: readonly Uint8Array[]): Promise<void> {
    assertMapType(this.spec, 'delete from', 'hash')
    for (const key of keys) assertKeySize(this.spec, key)
    let done = 0
    while (done < keys.length) {
      const rest = done === 0 ? keys : keys.slice(done)
      const [errno, count] = this.#hasBatches ? this.#deleteBatch(rest) : this.#deleteOneByOne(rest)
      done += count
      // A batch ends at the first key that is not there.
      if (errno === ENOENT) done++
      else if (errno !== 0 && !this.#lacksBatches(errno, count))
        throw bpfErrorFrom(errno, 'other', `delete from the map "${this.spec.name}"`)
    }
  }

  get bytes(): Uint8Array {
    assertMapType(this.spec, 'read the memory of', 'array')
    return this.#descriptor.isOpen ? this.#arrayMemory().bytes : new Uint8Array()
  }

  async fill(offset: number, bytes: Uint8Array): Promise<void> {
    assertMapType(this.spec, 'fill', 'array')
    assertInside(this.spec, offset, bytes.length)
    this.#arrayMemory().bytes.set(bytes, offset)
  }

  async store(offset: number, word: bigint): Promise<void> {
    assertMapType(this.spec, 'store in', 'array')
    assertWord(this.spec, offset)
    Atomics.store(this.#arrayMemory().words, offset / 8, word)
  }

  [Symbol.dispose](): void {
    if (!this.#descriptor.isOpen) return
    this.#descriptor[Symbol.dispose]()
    if (this.#memory !== undefined) this.#libc.releaseShared(this.#memory.buffer)
  }

  #arrayMemory(): SharedMemory {
    if (this.fd < 0 || this.#memory === undefined) throw new TypeError('an array has memory')
    return this.#memory
  }

  /** An old kernel says so at the first batch, and has done nothing. From then on each entry is a call of its own. */
  #lacksBatches(errno: number, count: number): boolean {
    if (!this.#hasBatches || count > 0 || (errno !== EINVAL && errno !== ENOTSUPP)) return false
    this.#hasBatches = false
    return true
  }

  /** All in one if the kernel has no batches. */
  #part(at: Uint8Array | undefined, most: number): PackedPart {
    const part = this.#hasBatches ? this.#listBatch(at, most) : undefined
    return part ?? { ...packed(this.spec, this.#listOneByOne()), next: undefined }
  }

  /** Undefined: the kernel has none. */
  #listBatch(at: Uint8Array | undefined, most: number): PackedPart | undefined {
    const { keySize, valueSize, maxEntries } = this.spec
    for (let room = Math.min(maxEntries, most); ; room *= 2) {
      const [keys, values, next] = [
        Buffer.alloc(room * keySize),
        Buffer.alloc(room * valueSize),
        Buffer.alloc(keySize + 8),
      ]
      const batch = this.#batch(keys, values, room).pointer(8, next)
      if (at !== undefined) batch.pointer(0, bufferOf(at))
      const errno = -batch.call(bpfCommand.lookupBatch)
      const count = batch.bytes.readUInt32LE(32)
      // One bucket has more entries than that.
      if (errno === ENOSPC) continue
      // The last batch ends with ENOENT and has entries all the same.
      if (errno > 0 && errno !== ENOENT) {
        if (at === undefined && this.#lacksBatches(errno, 0)) return undefined
        throw bpfErrorFrom(errno, 'read', `list the map "${this.spec.name}"`)
      }
      return {
        keys: keys.subarray(0, count * keySize),
        values: values.subarray(0, count * valueSize),
        next: errno === ENOENT ? undefined : next,
      }
    }
  }

  #listOneByOne(): readonly MapEntry[] {
    const { keySize } = this.spec
    const found: MapEntry[] = []
    const seen = new Set<string>()
    let key: Buffer | undefined
    for (;;) {
      const next = Buffer.alloc(keySize)
      const step = this.#element().pointer(16, next)
      if (key !== undefined) step.pointer(8, key)
      const errno = -step.call(bpfCommand.nextKey)
      // If the key was deleted meanwhile, the kernel begins again.
      if (errno === ENOENT || seen.has(next.toString('latin1'))) return found
      if (errno > 0) throw bpfErrorFrom(errno, 'read', `list the map "${this.spec.name}"`)
      seen.add(next.toString('latin1'))
      const value = this.#lookup(next)
      if (value !== undefined) found.push([new Uint8Array(next), value])
      key = next
    }
  }

  #lookup(key: Buffer): Uint8Array | undefined {
    const value = Buffer.alloc(this.spec.valueSize)
    const errno = -this.#element().pointer(8, key).pointer(16, value).call(bpfCommand.lookup)
    if (errno === ENOENT) return undefined
    if (errno > 0) throw bpfErrorFrom(errno, 'read', `look into the map "${this.spec.name}"`)
    return new Uint8Array(value)
  }

  #updateBatch({ keys, values }: PackedEntries): ErrnoAndCount {
    const count = keys.length / this.spec.keySize
    return resultOf(this.#batch(bufferOf(keys), bufferOf(values), count), bpfCommand.updateBatch)
  }

  #updateOneByOne({ keys, values }: PackedEntries): ErrnoAndCount {
    const { keySize, valueSize } = this.spec
    const places = Array.from({ length: keys.length / keySize }, (_, place) => place)
    return oneByOne(places, (place) => {
      const [key, value] = [elementOf(keys, place, keySize), elementOf(values, place, valueSize)]
      return this.#element().pointer(8, bufferOf(key)).pointer(16, bufferOf(value)).call(bpfCommand.update)
    })
  }

  #deleteBatch(keys: readonly Uint8Array[]): ErrnoAndCount {
    return resultOf(this.#batch(Buffer.concat(keys), undefined, keys.length), bpfCommand.deleteBatch)
  }

  #deleteOneByOne(keys: readonly Uint8Array[]): ErrnoAndCount {
    return oneByOne(keys, (key) => this.#element().pointer(8, Buffer.from(key)).call(bpfCommand.delete))
  }

  #element(): BpfAttributes {
    return new BpfAttributes(this.#libc, elementBytes).u32(0, this.fd)
  }

  #batch(keys: Buffer, values: Buffer | undefined, count: number): BpfAttributes {
    const batch = new BpfAttributes(this.#libc, batchBytes).pointer(16, keys).u32(32, count).u32(36, this.fd)
    return values === undefined ? batch : batch.pointer(24, values)
  }
}

interface SharedMemory {
  readonly buffer: ArrayBuffer
  readonly bytes: Uint8Array
  readonly words: BigUint64Array
}

function sharedMemory(libc: Libc, fd: number, { name, valueSize, maxEntries }: MapSpec): SharedMemory {
  const buffer = libc.mapShared(fd, valueSize * maxEntries)
  if (typeof buffer === 'number') throw bpfErrorFrom(buffer, 'map-memory', `share the memory of the map "${name}"`)
  return { buffer, bytes: new Uint8Array(buffer), words: new BigUint64Array(buffer) }
}

/** How far it came, and the errno of the one after. */
type ErrnoAndCount = readonly [errno: number, count: number]

/** A batch that fails has done as many as the kernel writes back. */
function resultOf(batch: BpfAttributes, command: number): ErrnoAndCount {
  const asked = batch.bytes.readUInt32LE(32)
  const errno = -Math.min(batch.call(command), 0)
  const count = batch.bytes.readUInt32LE(32)
  // A kernel without the command leaves the count as it was.
  return [errno, errno !== 0 && count === asked ? 0 : count]
}

function oneByOne<T>(items: readonly T[], call: (item: T) => number): ErrnoAndCount {
  for (const [index, item] of items.entries()) {
    const result = call(item)
    if (result < 0) return [-result, index]
  }
  return [0, items.length]
}

const bufferOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
