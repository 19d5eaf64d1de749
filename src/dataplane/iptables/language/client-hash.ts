/**
 * A program for the match `bpf` that hashes the address of a client, and takes those whose hash is below a limit. The kernel's
 * own match for this, `cluster`, divides clients into at most 32 parts and looks at 32 bits of an IPv6 address only, so that all
 * pods are one client; and the target HMARK would write over the marks of others.
 */
import type { Family } from '../../../net/ip.ts'

/** Of classic BPF, as the match wants it: `code jt jf k`. A is the accumulator. */
const op = {
  /** A = 32 bits of the packet. */
  load: (offset: number) => `32 0 0 ${offset}`,
  xorConstant: (k: number) => `164 0 0 ${k}`,
  xorX: '172 0 0 0',
  multiply: (k: number) => `36 0 0 ${k}`,
  shiftRight: (bits: number) => `116 0 0 ${bits}`,
  /** X = A */
  copyToX: '7 0 0 0',
  /** Skips one instruction unless A is at least k. */
  ifAtLeast: (k: number) => `53 0 1 ${k}`,
  result: (k: number) => `6 0 0 ${k}`,
} as const

/** Where the source address is in the header. */
const sourceWords: Readonly<Record<Family, readonly number[]>> = { ipv4: [12], ipv6: [8, 12, 16, 20] }

export interface ClientHash {
  readonly family: Family
  /** Programs with other seeds choose other clients. */
  readonly seed: number
  /** The part of all clients that is taken, from 0 to 1. */
  readonly share: number
}

/** Nodes choose alike only if they have the same program, so it does not change from one version to the next. */
export function clientHashProgram({ family, seed, share }: ClientHash): string {
  const [first = 0, ...others] = sourceWords[family]
  const program = [
    op.load(first),
    op.xorConstant(seed),
    ...others.flatMap((offset) => [...mix(0x7feb352d, 16), op.copyToX, op.load(offset), op.xorX]),
    // Multiplied twice between shifts, every bit of the address changes half of the bits of the result.
    ...xorShift(16),
    ...mix(0x7feb352d, 15),
    ...mix(0x846ca68b, 16),
    op.ifAtLeast(limitOf(share)),
    op.result(0),
    op.result(1),
  ]
  return `${program.length},${program.join(',')}`
}

function mix(factor: number, bits: number): readonly string[] {
  return [op.multiply(factor), ...xorShift(bits)]
}

/** A ^= A >> bits */
function xorShift(bits: number): readonly string[] {
  return [op.copyToX, op.shiftRight(bits), op.xorX]
}

function limitOf(share: number): number {
  return Math.min(2 ** 32 - 1, Math.round(share * 2 ** 32))
}
