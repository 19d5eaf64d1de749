/** The addresses of one service CIDR, and where to look for the next free one. */
import { cidrContains, ipFromBigInt, ipToBigInt, renderCidr } from '../../net/ip.ts'
import type { Cidr } from '../../net/ip.ts'

export class AddressRange {
  readonly cidr: Cidr
  readonly text: string
  readonly #first: bigint
  readonly #size: bigint
  #next: bigint

  constructor(cidr: Cidr) {
    this.cidr = cidr
    this.text = renderCidr(cidr)
    const bits = BigInt((cidr.family === 'ipv4' ? 32 : 128) - cidr.prefixLength)
    const total = 1n << bits
    // Kubernetes does not use the network address, nor the broadcast address of IPv4.
    this.#first = ipToBigInt(cidr.network) + 1n
    this.#size = total - (cidr.family === 'ipv4' ? 2n : 1n)
    this.#next = staticBand(this.#size)
  }

  /** The Service `default/kubernetes` has it in every cluster. */
  get firstAddress(): string {
    return ipFromBigInt(this.#first, this.cidr.family)
  }

  contains(ip: string): boolean {
    if (!cidrContains(this.cidr, ip)) return false
    const index = ipToBigInt(ip) - this.#first
    return index >= 0n && index < this.#size
  }

  /** Goes round the range, so that a released address is not reused at once: clients may still use it. */
  nextFree(usedCount: number, isUsed: (ip: string) => boolean): string | undefined {
    // Among one more address than are used, at least one is free.
    const tries = this.#size < BigInt(usedCount + 1) ? this.#size : BigInt(usedCount + 1)
    for (let tried = 0n; tried < tries; tried++) {
      const ip = ipFromBigInt(this.#first + this.#next, this.cidr.family)
      this.#next = this.#next + 1n >= this.#size ? 0n : this.#next + 1n
      if (!isUsed(ip)) return ip
    }
    return undefined
  }
}

/** Kubernetes leaves the low end of a range to Services that choose their address, and allocates there last. */
function staticBand(size: bigint): bigint {
  const sixteenth = size / 16n
  if (size <= 16n) return 0n
  return sixteenth < 16n ? 16n : sixteenth > 256n ? 256n : sixteenth
}
