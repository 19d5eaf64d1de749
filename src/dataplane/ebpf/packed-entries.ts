/** Entries of a map, one after the other: thousands of them in two pieces of memory, as the kernel wants them. */
import { BpfError } from './bpf-error.ts'
import type { MapEntry, MapSpec } from './bpf.ts'
import { assertKeySize, assertValueSize } from './map-rules.ts'

export interface PackedEntries {
  readonly keys: Uint8Array
  readonly values: Uint8Array
}

/** Throws if a size is wrong: the kernel would read beyond. */
export function packed(spec: MapSpec, entries: readonly MapEntry[] | PackedEntries): PackedEntries {
  if (isList(entries)) {
    for (const [key, value] of entries) {
      assertKeySize(spec, key)
      assertValueSize(spec, value)
    }
    const [keys, values] = [entries.map(([key]) => key), entries.map(([, value]) => value)]
    return { keys: Buffer.concat(keys), values: Buffer.concat(values) }
  }
  const [keys, values] = [entries.keys.length / spec.keySize, entries.values.length / spec.valueSize]
  if (!Number.isInteger(keys) || keys !== values)
    throw new BpfError('refused', `cannot put ${values} values at ${keys} keys into the map "${spec.name}"`)
  return entries
}

/** Each entry in memory of its own. */
export function unpacked({ keySize, valueSize }: MapSpec, { keys, values }: PackedEntries): readonly MapEntry[] {
  return Array.from({ length: keys.length / keySize }, (_, place) => [
    elementOf(keys, place, keySize),
    elementOf(values, place, valueSize),
  ])
}

export function elementOf(bytes: Uint8Array, place: number, size: number): Uint8Array {
  return new Uint8Array(bytes.subarray(place * size, (place + 1) * size))
}

function isList(entries: readonly MapEntry[] | PackedEntries): entries is readonly MapEntry[] {
  return Array.isArray(entries)
}
