/** The kernel keeps a set of lone prefixes as starts and ends: each end is the first address behind its prefix. */
import type { Slice } from '../../netlink/attribute.ts'
import type { SetDeclaration } from '../nft.ts'
import type { TupleCodec } from './tuple-codec.ts'

/** Prefixes at the end of longer keys are kept as they are, each as one element. */
export function isPrefixTree({ key, isInterval }: SetDeclaration): boolean {
  return isInterval === true && key.length === 1
}

export interface PrefixEnds {
  readonly start: Buffer
  /** Undefined when the prefix reaches the last address. */
  readonly behind: Buffer | undefined
}

export function prefixEnds(keys: TupleCodec, text: string): PrefixEnds | undefined {
  const { bytes } = keys
  const range = Buffer.alloc(2 * bytes)
  if (!keys.writeRange(text, range, 0, bytes)) return undefined
  const behind = range.subarray(bytes)
  for (let at = bytes - 1; at >= 0; at--) {
    behind[at] = (behind[at] ?? 0) + 1
    if (behind[at] !== 0) return { start: range.subarray(0, bytes), behind }
  }
  return { start: range.subarray(0, bytes), behind: undefined }
}

export class PrefixTree {
  readonly #keys: TupleCodec
  readonly #starts: bigint[] = []
  readonly #ends: bigint[] = []

  constructor(keys: TupleCodec) {
    this.#keys = keys
  }

  add({ buffer, from, to }: Slice, isEnd: boolean): void {
    const value = BigInt(`0x${buffer.toString('hex', from, to)}`)
    ;(isEnd ? this.#ends : this.#starts).push(value)
  }

  /** The prefixes, in order. */
  texts(): string[] {
    const { bytes } = this.#keys
    const starts = this.#starts.toSorted(ascending)
    const ends = this.#ends.toSorted(ascending)
    const buffer = Buffer.alloc(2 * bytes)
    const write = (value: bigint, at: number) => buffer.write(value.toString(16).padStart(2 * bytes, '0'), at, 'hex')
    return starts.map((start) => {
      while (ends[0] !== undefined && ends[0] <= start) ends.shift()
      // A prefix that reaches the last address has no end.
      const behind = ends[0] ?? 1n << BigInt(8 * bytes)
      write(start, 0)
      write(behind - 1n, bytes)
      return this.#keys.readRange(buffer, 0, bytes)
    })
  }
}

function ascending(left: bigint, right: bigint): number {
  return left < right ? -1 : left > right ? 1 : 0
}
