/**
 * Cluster IPs and node ports in use. It follows every write of the store as it is decided, so two Services of one batch
 * cannot get the same address. At start it is rebuilt from the store, so a crash leaks nothing.
 */
import type { Family } from '../../net/ip.ts'
import { parseCidr, parseIp } from '../../net/ip.ts'
import { AddressRange } from './allocator-range.ts'
import type { Allocator, ApiObject } from '../resource.ts'
import type { Entry } from '../store/entry.ts'

export interface PortRange {
  readonly first: number
  readonly last: number
}

export const defaultServiceCidrs = ['10.96.0.0/16', 'fd00:10:96::/112'] as const
const defaultNodePorts: PortRange = { first: 30000, last: 32767 }

export class ServiceAllocator implements Allocator {
  readonly #nodePorts: PortRange
  readonly #ownersByIP = new Map<string, string>()
  readonly #ownersByNodePort = new Map<number, string>()
  readonly #rangesByObject = new Map<string, readonly AddressRange[]>()
  #nextNodePort: number

  constructor(nodePorts = defaultNodePorts) {
    this.#nodePorts = nodePorts
    // As for addresses, the low end is for Services that choose.
    const size = this.#nodePorts.last - this.#nodePorts.first + 1
    this.#nextNodePort = this.#nodePorts.first + (size <= 16 ? 0 : Math.min(Math.max(16, Math.floor(size / 32)), 128))
  }

  /** A WriteObserver: releases what a write gives up and marks what it takes. */
  readonly observe = (kind: string, before: Entry | undefined, after: Entry | undefined): void => {
    if (kind === 'services') {
      if (before !== undefined) this.#release(before)
      if (after !== undefined) this.#claim(after)
    } else if (kind === 'servicecidrs.networking.k8s.io') {
      if (before !== undefined) this.#rangesByObject.delete(before.key)
      if (after !== undefined) this.#rangesByObject.set(after.key, rangesOf(after.object))
    }
  }

  get families(): readonly Family[] {
    return [...new Set([...this.#ranges()].map((range) => range.cidr.family))]
  }

  nextClusterIP(family: Family): string | undefined {
    for (const range of this.#ranges()) {
      if (range.cidr.family !== family) continue
      const ip = range.nextFree(this.#ownersByIP.size, (candidate) => this.#ownersByIP.has(candidate))
      if (ip !== undefined) return ip
    }
    return undefined
  }

  refuseClusterIP(text: string, owner: string): string | undefined {
    const ip = parseIp(text)
    if (ip === undefined) return `"${text}" is not an IP address`
    const ranges = [...this.#ranges()]
    if (!ranges.some((range) => range.contains(ip))) {
      const valid = ranges.map((range) => range.text).join(', ')
      return `the provided IP (${ip}) is not in the valid range. The range of valid IPs is ${valid}`
    }
    const holder = this.#ownersByIP.get(ip)
    return holder === undefined || holder === owner ? undefined : 'provided IP is already allocated'
  }

  nextNodePort(except: ReadonlySet<number>): number | undefined {
    const { first, last } = this.#nodePorts
    for (let tried = first; tried <= last; tried++) {
      const port = this.#nextNodePort
      this.#nextNodePort = port >= last ? first : port + 1
      if (!this.#ownersByNodePort.has(port) && !except.has(port)) return port
    }
    return undefined
  }

  /** A port belongs to one Service, whatever the protocol. Within a Service, TCP and UDP may share one. */
  refuseNodePort(port: number, _protocol: string, owner: string): string | undefined {
    const { first, last } = this.#nodePorts
    if (port < first || port > last)
      return `provided port is not in the valid range. The range of valid ports is ${first}-${last}`
    const holder = this.#ownersByNodePort.get(port)
    return holder === undefined || holder === owner ? undefined : 'provided port is already allocated'
  }

  #claim({ key, object }: Entry): void {
    for (const ip of clusterIPsOf(object)) this.#ownersByIP.set(ip, key)
    for (const port of nodePortsOf(object)) this.#ownersByNodePort.set(port, key)
  }

  #release({ key, object }: Entry): void {
    for (const ip of clusterIPsOf(object)) if (this.#ownersByIP.get(ip) === key) this.#ownersByIP.delete(ip)
    for (const port of nodePortsOf(object))
      if (this.#ownersByNodePort.get(port) === key) this.#ownersByNodePort.delete(port)
  }

  *#ranges(): Iterable<AddressRange> {
    for (const ranges of this.#rangesByObject.values()) yield* ranges
  }
}

function rangesOf(serviceCidr: ApiObject): AddressRange[] {
  const { cidrs } = (serviceCidr.spec ?? {}) as { readonly cidrs?: readonly string[] }
  return (cidrs ?? []).flatMap((text) => {
    const cidr = parseCidr(text)
    return cidr === undefined ? [] : [new AddressRange(cidr)]
  })
}

interface AllocatedFields {
  readonly clusterIP?: string
  readonly clusterIPs?: readonly string[]
  readonly ports?: readonly { readonly nodePort?: number }[]
  readonly healthCheckNodePort?: number
}

function clusterIPsOf(service: ApiObject): string[] {
  const { clusterIP = '', clusterIPs = [] } = (service.spec ?? {}) as AllocatedFields
  return [...new Set([clusterIP, ...clusterIPs])].flatMap((text) => parseIp(text) ?? [])
}

function nodePortsOf(service: ApiObject): number[] {
  const { ports = [], healthCheckNodePort = 0 } = (service.spec ?? {}) as AllocatedFields
  return [...ports.map((port) => port.nodePort ?? 0), healthCheckNodePort].filter((port) => port > 0)
}
