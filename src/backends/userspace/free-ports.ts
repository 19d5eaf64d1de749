/**
 * Guesses which ports are free. The kernel finds one for port 0 too, but it walks from port to port: for 10,000
 * listeners that took 5 seconds, for 15,000 it took 20 (Linux 6.18, a range of 28,000 ports). Most of what is taken is
 * ours, and we know what is ours.
 */
import type { ListenerSpec } from '../../dataplane/relay/relay.ts'

type Protocol = ListenerSpec['protocol']

export interface PortRange {
  readonly first: number
  readonly last: number
}

/** What Linux takes from by default when a program does not care. */
const usualRange: PortRange = { first: 32_768, last: 60_999 }

/** How often another program may have been quicker before the kernel is asked after all. */
const guesses = 4

export interface FreePortsOptions {
  readonly range?: PortRange
  /** Ports of the range and no others. Without it the kernel has the last word. */
  readonly isRangeBinding?: boolean
  /** Kept free for others. */
  readonly reserved?: readonly PortRange[]
  readonly random?: () => number
}

export class FreePorts {
  readonly #range: PortRange
  readonly #isRangeBinding: boolean
  readonly #reserved: readonly PortRange[]
  readonly #random: () => number
  readonly #taken: Readonly<Record<Protocol, Set<number>>> = { TCP: new Set(), UDP: new Set() }

  constructor({
    range = usualRange,
    isRangeBinding = false,
    reserved = [],
    random = Math.random,
  }: FreePortsOptions = {}) {
    this.#range = range
    this.#isRangeBinding = isRangeBinding
    this.#reserved = reserved
    this.#random = random
  }

  /** Ports to try, in this order; 0 means that the kernel shall say. There is none when a binding range is used up. */
  candidates(protocol: Protocol): Iterable<number> {
    return this.#isRangeBinding ? this.#allFree(protocol) : this.#guesses(protocol)
  }

  take(protocol: Protocol, port: number): void {
    const { first, last } = this.#range
    if (first <= port && port <= last) this.#taken[protocol].add(port)
  }

  giveBack(protocol: Protocol, port: number): void {
    this.#taken[protocol].delete(port)
  }

  /** Of the range, not reserved, and not taken by us. Another program may have them. */
  countFree(protocol: Protocol): number {
    const { first, last } = this.#range
    const reserved = this.#reserved.map((range) => Math.min(last, range.last) - Math.max(first, range.first) + 1)
    const taken = [...this.#taken[protocol]].filter((port) => !this.#isReserved(port)).length
    return reserved.reduce((left, count) => left - Math.max(0, count), last - first + 1) - taken
  }

  get bindingRange(): PortRange | undefined {
    return this.#isRangeBinding ? this.#range : undefined
  }

  /** From a random one on, so that a Service that comes back soon is not where another was a moment ago. */
  *#allFree(protocol: Protocol): Iterable<number> {
    const { first, last } = this.#range
    const size = last - first + 1
    const taken = this.#taken[protocol]
    if (taken.size === size) return // Many may wait, and each asks in each sync.
    const start = Math.floor(this.#random() * size)
    for (let step = 0; step < size; step++) {
      const port = first + ((start + step) % size)
      if (!taken.has(port)) yield port
    }
  }

  #guesses(protocol: Protocol): readonly number[] {
    const found = new Set<number>()
    for (let n = 0; n < guesses; n++) {
      const port = this.#guess(protocol)
      if (port !== undefined) found.add(port)
    }
    return [...found, 0]
  }

  /** A few throws hit a free port, unless there is hardly one left. */
  #guess(protocol: Protocol): number | undefined {
    const { first, last } = this.#range
    for (let throws = 0; throws < 16; throws++) {
      const port = first + Math.floor(this.#random() * (last - first + 1))
      if (!this.#taken[protocol].has(port) && !this.#isReserved(port)) return port
    }
    return undefined
  }

  #isReserved(port: number): boolean {
    return this.#reserved.some(({ first, last }) => first <= port && port <= last)
  }
}

/** What to say to whoever wants a port when there is none. */
export function noPortLeft(protocol: Protocol, bindingRange: PortRange | undefined): string {
  if (bindingRange === undefined)
    return `no free port is left for ${protocol}: widen net.ipv4.ip_local_port_range, or use a kernel mode`
  const { first, last } = bindingRange
  return `no port of ${first}-${last} is left for ${protocol}: widen --proxy-port-range (portRange in a file), or use a kernel mode`
}

/** As the kernel writes ip_local_reserved_ports: `8080,30000-32767`. */
export function parsePortList(text: string): readonly PortRange[] {
  return text.split(',').flatMap((item) => parsePortRange(item.includes('-') ? item : `${item}-${item}`) ?? [])
}

/** As the kernel writes ip_local_port_range, or an item of a list; undefined when the text is not one. */
export function parsePortRange(text: string): PortRange | undefined {
  const [, first, last] = /^\s*(\d+)[\s-]+(\d+)\s*$/.exec(text) ?? []
  const range = { first: Number(first), last: Number(last) }
  return range.first >= 1 && range.first <= range.last && range.last <= 65_535 ? range : undefined
}
