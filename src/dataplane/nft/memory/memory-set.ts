/** A set or map of a MemoryTable. */
import { NftError } from '../nft.ts'
import type { FieldType, FoundElement, NftErrorReason, SetDeclaration, SetElement } from '../nft.ts'
import { keyCodec, tupleCodec } from '../netlink/tuple-codec.ts'
import type { TupleCodec } from '../netlink/tuple-codec.ts'

export class MemorySet {
  readonly elements = new Map<string, FoundElement>()
  readonly #declaration: SetDeclaration
  readonly #keys: TupleCodec
  /** Where each field of a key is, in its hexadecimal text. */
  readonly #fields: readonly (readonly [number, number])[]
  /** How many elements lead to a chain. */
  readonly #references = new Map<string, number>()

  constructor(declaration: SetDeclaration) {
    this.#declaration = declaration
    this.#keys = keyCodec(declaration)
    let end = 0
    this.#fields = declaration.key.map((_type, index) => {
      const from = end
      end = 2 * keyCodec({ ...declaration, key: declaration.key.slice(0, index + 1) }).bytes
      return [from, end]
    })
  }

  isLike(other: SetDeclaration): boolean {
    return shapeOf(this.#declaration) === shapeOf(other)
  }

  holds(type: FieldType): boolean {
    return this.#declaration.key.includes(type)
  }

  leadsTo(chain: string): boolean {
    return (this.#references.get(chain) ?? 0) > 0
  }

  /** What it returns takes it back. */
  add({ key: text, value: valueText = '' }: SetElement): () => void {
    const { key, lowest, highest } = this.#parseKey(text)
    const value = this.#parseValue(text, valueText)
    const old = this.elements.get(key)
    if (old?.value === value) return () => {}
    if (old !== undefined || this.#overlaps(lowest, highest)) throw this.#refusal('exists', key)
    this.#put(key, { value, packets: 0 })
    return () => this.#take(key)
  }

  delete(text: string): () => void {
    const { key } = this.#parseKey(text)
    const old = this.elements.get(key)
    if (old === undefined) throw this.#refusal('missing', key)
    this.#take(key)
    return () => this.#put(key, old)
  }

  count(key: string, packets: number): void {
    const old = this.elements.get(key)
    if (old !== undefined) this.elements.set(key, { ...old, packets: old.packets + packets })
  }

  #put(key: string, element: FoundElement): void {
    this.elements.set(key, element)
    this.#refer(element, 1)
  }

  #take(key: string): void {
    const element = this.elements.get(key)
    this.elements.delete(key)
    if (element !== undefined) this.#refer(element, -1)
  }

  #refer({ value }: FoundElement, by: number): void {
    const chain = /^(?:goto|jump) (.+)$/.exec(value)?.[1]
    if (chain !== undefined) this.#references.set(chain, (this.#references.get(chain) ?? 0) + by)
  }

  #parseKey(text: string): { readonly key: string; readonly lowest: string; readonly highest: string } {
    const { bytes } = this.#keys
    const buffer = Buffer.alloc(2 * bytes)
    const isRange = this.#declaration.isInterval === true
    const isValid = isRange ? this.#keys.writeRange(text, buffer, 0, bytes) : this.#keys.write(text, buffer, 0)
    if (!isValid) throw this.#refusal('refused', text)
    return {
      key: isRange ? this.#keys.readRange(buffer, 0, bytes) : this.#keys.read(buffer, 0),
      lowest: buffer.toString('hex', 0, bytes),
      highest: buffer.toString('hex', bytes),
    }
  }

  #parseValue(key: string, text: string): string {
    const { value: types } = this.#declaration
    if (types === undefined || types === 'verdict') {
      const isKnown = types === undefined ? text === '' : /^((goto|jump) \S+|drop|accept|return|continue)$/.test(text)
      if (!isKnown) throw this.#refusal('refused', `${key} : ${text}`)
      return text
    }
    const codec = tupleCodec(types)
    const buffer = Buffer.alloc(codec.bytes)
    if (!codec.write(text, buffer, 0)) throw this.#refusal('refused', `${key} : ${text}`)
    return codec.read(buffer, 0)
  }

  /** Two elements of a set of intervals may not have a key in common: in none of the fields may they be apart. */
  #overlaps(lowest: string, highest: string): boolean {
    if (this.#declaration.isInterval !== true) return false
    for (const key of this.elements.keys()) {
      const other = this.#parseKey(key)
      const isApart = ([from, to]: readonly [number, number]) =>
        other.lowest.slice(from, to) > highest.slice(from, to) || lowest.slice(from, to) > other.highest.slice(from, to)
      if (!this.#fields.some(isApart)) return true
    }
    return false
  }

  #refusal(reason: NftErrorReason, what: string): NftError {
    return new NftError(
      reason,
      `cannot change the table in memory: ${this.#declaration.name} with "${what}": ${reason}`,
    )
  }
}

/** What may not differ between two declarations of one set. Comments may. */
function shapeOf({ key, value, isInterval, timeoutSeconds, keepsConnections }: SetDeclaration): string {
  const flags = [isInterval === true, timeoutSeconds !== undefined, keepsConnections === true]
  return JSON.stringify([key, value ?? '', flags])
}
