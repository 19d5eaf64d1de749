/** A hash of the rules of a chain, to compare them with the expected ones. */
export class RulesDigest {
  #low = 0
  #high = 0

  /** A rule in the output of a tool. */
  addBytes(bytes: Uint8Array, start: number, end: number): void {
    let [low, high] = [this.#low, this.#high]
    for (let at = start; at < end; at++) {
      const byte = bytes[at] ?? 0
      low = Math.imul(low ^ byte, lowPrime)
      high = Math.imul(high ^ byte, highPrime) ^ (low >>> 15)
    }
    this.#set(low, high)
  }

  /** A rule in ASCII, the only characters that we write. */
  addText(rule: string): void {
    let [low, high] = [this.#low, this.#high]
    for (let at = 0; at < rule.length; at++) {
      const code = rule.charCodeAt(at)
      low = Math.imul(low ^ code, lowPrime)
      high = Math.imul(high ^ code, highPrime) ^ (low >>> 15)
    }
    this.#set(low, high)
  }

  reset(): void {
    this.#low = 0
    this.#high = 0
  }

  /** 52 bits, which fit into a number exactly. */
  get value(): number {
    return (this.#low >>> 0) * 2 ** 20 + (this.#high >>> 12)
  }

  /** Adds a newline, so that the same text split into other rules has another digest. */
  #set(low: number, high: number): void {
    this.#low = Math.imul(low ^ newline, lowPrime)
    this.#high = Math.imul(high ^ newline, highPrime) ^ (this.#low >>> 15)
  }
}

export function digestOfRules(rules: Iterable<string>): number {
  const digest = new RulesDigest()
  for (const rule of rules) digest.addText(rule)
  return digest.value
}

/** Two hashes of 32 bits, similar to FNV: fast for tens of megabytes. */
const [lowPrime, highPrime] = [0x01000193, 0x5bd1e995]
const newline = 10
