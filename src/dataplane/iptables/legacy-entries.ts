/**
 * Reads a legacy table as the kernel hands it out: struct ipt_entry after struct ipt_entry, one for each rule, with a jump
 * as the offset that it leads to. Of each chain it makes a number that is the same as long as its rules are.
 */
import type { Family } from '../../net/ip.ts'

export interface LegacyEntries {
  /** Little-endian, of a 64-bit kernel; begins at a multiple of four. */
  readonly bytes: Buffer
  /** The built-in chains, by the offset of their first rule. */
  readonly hooks: ReadonlyMap<number, string>
}

/** Where things are in an entry, in bytes. From `comefrom` to `rest` is what the kernel itself counts there. */
const layouts = {
  ipv4: { targetOffset: 88, nextOffset: 90, comefrom: 92, rest: 112 },
  ipv6: { targetOffset: 140, nextOffset: 142, comefrom: 144, rest: 168 },
} as const

/** In a target: its name, then what belongs to it, such as a verdict or the name of a chain. */
const [targetName, targetData] = [2, 32]
const longestChainName = 30

/** By chain. */
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
    // The name of the next chain is not part of this one.
    if (isError(bytes, target)) continue
    digest.add(words, at >> 2, (at + comefrom) >> 2)
    const data = target + targetData
    const jump = bytes[target + targetName] === 0 ? heads.get(words[data >> 2] ?? -1) : undefined
    if (jump === undefined) digest.add(words, (at + rest) >> 2, next >> 2)
    else {
      // The offset moves when anything before it grows; the chain that it leads to does not.
      digest.add(words, (at + rest) >> 2, data >> 2)
      digest.addOne(jump.seed)
    }
  }
  if (chain !== '') digests.set(chain, digest.value)
  return digests
}

interface Head {
  readonly name: string
  /** A number for the name. */
  readonly seed: number
}

/** Chains by the offset of their first rule. A chain that is not built in follows an entry with its name. */
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

/** The target with the name `ERROR`. */
function isError(bytes: Buffer, target: number): boolean {
  return bytes.readUInt32LE(target + targetName) === 0x4f525245 && bytes[target + targetName + 4] === 0x52
}

function nameAt(bytes: Buffer, at: number): string {
  return bytes.toString('latin1', at, Math.min(bytes.indexOf(0, at), at + longestChainName))
}

/** Two FNV-like sums of 32 bits: quick over tens of megabytes, and good enough to tell one chain from what it was. */
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

  /** 52 bits, which a number holds exactly. */
  get value(): number {
    return (this.#low >>> 0) * 2 ** 20 + (this.#high >>> 12)
  }
}
