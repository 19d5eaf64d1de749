/** What is wrong with a question about a map, before the kernel is asked: its answer would be a bare EINVAL. */
import { BpfError } from './bpf-error.ts'
import type { MapSpec, MapType } from './bpf.ts'

const longestName = 15

/** The map as the kernel will describe it. */
export function checkedMapSpec(spec: MapSpec): MapSpec {
  const wrong = mistakeIn(spec)
  if (wrong !== undefined) throw new BpfError('refused', `cannot create the map "${spec.name}": ${wrong}`)
  return { ...spec, name: spec.name.slice(0, longestName) }
}

function mistakeIn({ name, type, keySize, valueSize, maxEntries }: MapSpec): string | undefined {
  const isIndexed = type === 'array' || type === 'socket-storage'
  if (!/^\w+$/.test(name)) return 'its name may have letters, digits and underscores only'
  if (isIndexed ? keySize !== 4 : keySize < 1) return `a key of ${keySize} bytes is not possible`
  if (valueSize < 1 || (type === 'array' && valueSize % 8 !== 0)) return `a value of ${valueSize} bytes is not possible`
  if (type === 'socket-storage' ? maxEntries !== 0 : maxEntries < 1) return `${maxEntries} entries are not possible`
  return undefined
}

export function assertMapType({ name, type }: MapSpec, doing: string, ...fitting: readonly MapType[]): void {
  if (!fitting.includes(type)) throw new BpfError('refused', `cannot ${doing} the map "${name}": it is of type ${type}`)
}

export function assertKeySize({ name, keySize }: MapSpec, key: Uint8Array): void {
  if (key.length !== keySize)
    throw new BpfError('refused', `cannot use a key of ${key.length} bytes in the map "${name}": it has ${keySize}`)
}

export function assertValueSize({ name, valueSize }: MapSpec, value: Uint8Array): void {
  if (value.length !== valueSize)
    throw new BpfError(
      'refused',
      `cannot put ${value.length} bytes into the map "${name}": its values have ${valueSize}`,
    )
}

/** A range of an array's memory. */
export function assertInside({ name, valueSize, maxEntries }: MapSpec, offset: number, length: number): void {
  if (offset < 0 || offset + length > valueSize * maxEntries)
    throw new BpfError('refused', `cannot write ${length} bytes at ${offset} of the map "${name}": it ends before`)
}

export function assertWord(spec: MapSpec, offset: number): void {
  assertInside(spec, offset, 8)
  if (offset % 8 !== 0)
    throw new BpfError('refused', `cannot store a word at ${offset} of the map "${spec.name}": it is not aligned`)
}

export const fullError = (name: string, done: number, cause?: unknown): BpfError =>
  new BpfError('full', `cannot add to the map "${name}": it is full`, { done, cause })
