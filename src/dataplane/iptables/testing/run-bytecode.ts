/** Runs a program of the match `bpf` as the kernel would, for a packet of which only the source is known. */
import { familyOf, ipToBigInt } from '../../../net/ip.ts'

/** The first 32-bit words of the header. */
export type Header = readonly number[]

export function headerFrom(source: string): Header {
  const isV4 = familyOf(source) === 'ipv4'
  const address = ipToBigInt(source)
  const shifts = isV4 ? [0n] : [96n, 64n, 32n, 0n]
  const before = isV4 ? [0, 0, 0] : [0, 0]
  return [...before, ...shifts.map((shift) => Number((address >> shift) & 0xffffffffn))]
}

export type Program = readonly (readonly [code: number, jt: number, jf: number, k: number])[]

export function parseBytecode(text: string): Program {
  const [count, ...lines] = text.split(',')
  if (Number(count) !== lines.length || lines.length > 64) throw new Error(`${lines.length} instructions, not ${count}`)
  return lines.map((line) => {
    const [code = 0, jt = 0, jf = 0, k = 0] = line.split(' ').map(Number)
    return [code, jt, jf, k]
  })
}

export function isTaken(program: Program, header: Header): boolean {
  let [a, x] = [0, 0]
  for (let at = 0; ; at++) {
    const [code, jt, jf, k] = program[at] ?? [0, 0, 0, 0]
    switch (code) {
      case 0x20: // A = header[k]
        a = header[k / 4] ?? 0
        break
      case 0xa4: // A ^= k
        a = (a ^ k) >>> 0
        break
      case 0xac: // A ^= X
        a = (a ^ x) >>> 0
        break
      case 0x24: // A *= k
        a = Math.imul(a, k) >>> 0
        break
      case 0x74: // A >>= k
        a >>>= k
        break
      case 0x07: // X = A
        x = a
        break
      case 0x35: // A >= k?
        at += a >= k ? jt : jf
        break
      case 0x06:
        return k !== 0
      default:
        throw new Error(`tests do not know the instruction ${code}`)
    }
  }
}
