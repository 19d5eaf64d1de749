/** Ranges of ports, by address. Hardly an address has any, and none has many. */
export class RangesByIp<T> {
  readonly #rangesByIp = new Map<string, Range<T>[]>()

  add(ip: string, first: number, last: number, value: T): void {
    const ranges = this.#rangesByIp.get(ip) ?? []
    ranges.push({ first, last, value })
    this.#rangesByIp.set(ip, ranges)
  }

  /** Of the first range that has it. */
  at(ip: string, port: number): T | undefined {
    return this.#rangesByIp.get(ip)?.find(({ first, last }) => port >= first && port <= last)?.value
  }
}

interface Range<T> {
  readonly first: number
  readonly last: number
  readonly value: T
}
