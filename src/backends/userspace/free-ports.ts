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
  /** Kept free for others. */
  readonly reserved?: readonly PortRange[]
  readonly random?: () => number
}

export class FreePorts {
  readonly #range: PortRange
  readonly #reserved: readonly PortRange[]
  readonly #random: () => number
  readonly #taken: Readonly<Record<Protocol, Set<number>>> = { TCP: new Set(), UDP: new Set() }

  constructor({ range = usualRange, reserved = [], random = Math.random }: FreePortsOptions = {}) {
    this.#range = range
    this.#reserved = reserved
    this.#random = random
  }

  /** Ports to try, and 0 at the end: then the kernel shall say. */
  candidates(protocol: Protocol): readonly number[] {
    const found = new Set<number>()
    for (let n = 0; n < guesses; n++) {
      const port = this.#guess(protocol)
      if (port !== undefined) found.add(port)
    }
    return [...found, 0]
  }

  take(protocol: Protocol, port: number): void {
    this.#taken[protocol].add(port)
  }

  giveBack(protocol: Protocol, port: number): void {
    this.#taken[protocol].delete(port)
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
