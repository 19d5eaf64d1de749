/**
 * Reads a legacy table in the format of the kernel: one struct ipt_entry for each rule, in which a jump is the offset of
 * its target. It makes a digest of each chain, which changes when its rules change.
 */
import type { Family } from '../../net/ip.ts'

export interface LegacyEntries {
  /** Of a little-endian 64-bit kernel. Must begin at a multiple of four. */
  readonly bytes: Buffer
  /** The built-in chains, by the offset of their first rule. */
  readonly hooks: ReadonlyMap<number, string>
}

/** Offsets in an entry. From `comefrom` to `rest` are the kernel's own data and counters. */
const layouts = {
  ipv4: { targetOffset: 88, nextOffset: 90, comefrom: 92, rest: 112 },
  ipv6: { targetOffset: 140, nextOffset: 142, comefrom: 144, rest: 168 },
} as const

/** Offsets in a target: its name, then its data, such as a verdict or the name of a chain. */
const [targetName, targetData] = [2, 32]
const longestChainName = 30

export function chainDigests(entries: LegacyEntries, family: Family): ReadonlyMap<string, number> {
  const { bytes } = entries
  const { targetOffset, nextOffset, comefrom, rest } = layouts[family]
  const heads = findHeads(entries, family)
  const words = new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2)
  const digests = new Map<string, number>()
  const digest = new Digest()
  let chain = ''
  for (let at = 0, next = 0; at < bytes.length; at = next) {
    next = at + bytes.readUInt16LE(at + nextOffset)
    const head = heads.get(at)
    if (head !== undefined) {
      if (chain !== '') digests.set(chain, digest.value)
      chain = head.name
      digest.reset()
    }
    const target = at + bytes.readUInt16LE(at + targetOffset)
    // This entry has the name of the next chain, and does not belong to this one.
    if (isError(bytes, target)) continue
    digest.add(words, at >> 2, (at + comefrom) >> 2)
    const data = target + targetData
    const jump = bytes[target + targetName] === 0 ? heads.get(words[data >> 2] ?? -1) : undefined
    if (jump === undefined) digest.add(words, (at + rest) >> 2, next >> 2)
    else {
      // The offset changes when anything before it grows, so use the name of the target chain instead.
      digest.add(words, (at + rest) >> 2, data >> 2)
      digest.addOne(jump.seed)
    }
  }
  if (chain !== '') digests.set(chain, digest.value)
  return digests
}

interface Head {
  readonly name: string
  /** A hash of the name. */
  readonly seed: number
}

/** By the offset of the first rule. Before a chain that is not built in, there is an entry with its name. */
function findHeads({ bytes, hooks }: LegacyEntries, family: Family): ReadonlyMap<number, Head> {
  const { targetOffset, nextOffset } = layouts[family]
  const heads = new Map<number, Head>()
  for (const [offset, name] of hooks) heads.set(offset, headOf(name))
  for (let at = 0; at < bytes.length;) {
    const target = at + bytes.readUInt16LE(at + targetOffset)
    const next = at + bytes.readUInt16LE(at + nextOffset)
    if (next <= at) throw new RangeError(`an entry of a legacy table has no length, at byte ${at} of ${bytes.length}`)
    if (isError(bytes, target)) heads.set(next, headOf(nameAt(bytes, target + targetData)))
    at = next
  }
  return heads
}

function headOf(name: string): Head {
  let seed = 0
  for (let at = 0; at < name.length; at++) seed = Math.imul(seed ^ name.charCodeAt(at), 0x01000193)
  return { name, seed }
}

/** Whether the name of the target is `ERROR`. */
function isError(bytes: Buffer, target: number): boolean {
  return bytes.readUInt32LE(target + targetName) === 0x4f525245 && bytes[target + targetName + 4] === 0x52
}

function nameAt(bytes: Buffer, at: number): string {
  return bytes.toString('latin1', at, Math.min(bytes.indexOf(0, at), at + longestChainName))
}

/** Two hashes of 32 bits, similar to FNV: fast for tens of megabytes, and good enough to notice a change. */
class Digest {
  #low = 0
  #high = 0

  reset(): void {
    this.#low = 0
    this.#high = 0
  }

  addOne(word: number): void {
    this.#low = Math.imul(this.#low ^ word, 0x01000193)
    this.#high = Math.imul(this.#high ^ word, 0x5bd1e995) ^ (this.#low >>> 15)
  }

  add(words: Int32Array, from: number, to: number): void {
    let [low, high] = [this.#low, this.#high]
    for (let at = from; at < to; at++) {
      const word = words[at] ?? 0
      low = Math.imul(low ^ word, 0x01000193)
      high = Math.imul(high ^ word, 0x5bd1e995) ^ (low >>> 15)
    }
    this.#low = low
    this.#high = high
  }

  /** 52 bits, which fit into a number exactly. */
  get value(): number {
    return (this.#low >>> 0) * 2 ** 20 + (this.#high >>> 12)
  }
}
