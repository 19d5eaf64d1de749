/**
 * The fence: external and load-balancer IPs that are not for a Service to take, although no other Service claims them
 * (CVE-2020-8554). What is known of the cluster is indexed by address and by prefix, so that a change costs what it touches.
 */
import { objectKey } from '../../api/records.ts'
import type { NodeRecord, ObjectKey, ServiceCidrRecord, SliceRecord } from '../../api/records.ts'
import { cidrContains, isLoopback, parseCidr, renderCidr } from '../../net/ip.ts'
import type { Cidr, Family } from '../../net/ip.ts'
import { serviceKeyOf } from '../catalog.ts'
import type { Catalog } from '../catalog.ts'
import { PrefixIndex } from './prefix-index.ts'
import { SharedIndex } from './shared-index.ts'

export interface GuardPolicy {
  /** Whether an address that belongs to the cluster or to another namespace is served. */
  readonly mode: 'warn' | 'deny' | 'off'
  /** External IPs outside of these get nothing; empty: all are allowed. */
  readonly externalIPCidrs: readonly Cidr[]
  /** Ranges of pods, besides those of the Nodes. */
  readonly podRanges: readonly Cidr[]
}

/** What speaks against an address that a Service names. */
export type Objection =
  | { readonly takenAs: 'notAllowed' }
  | { readonly takenAs: 'node'; readonly node: string }
  | { readonly takenAs: 'endpoint' | 'otherNamespace'; readonly owner: ObjectKey }
  | { readonly takenAs: 'podRange' | 'serviceRange'; readonly range: string }

export interface NamedAddress {
  /** Of the Service. */
  readonly namespace: string
  readonly kind: 'loadBalancerIP' | 'externalIP'
  readonly ip: string
}

/** Addresses about which there may be something else to say. */
export interface GuardChange {
  readonly ips: readonly string[]
  readonly ranges: readonly Cidr[]
}

export interface AddressGuardOptions {
  readonly family: Family
  readonly catalog: Pick<Catalog, 'slices' | 'nodes' | 'serviceCidrs'>
  readonly nodeName: string
  /** This node's addresses of the family, as of now. */
  readonly nodeIPs: () => readonly string[]
  readonly policy: GuardPolicy
}

/** Nobody but the administrator writes its endpoints. */
const apiServerService = 'default/kubernetes' as ObjectKey

const noChange: GuardChange = { ips: [], ranges: [] }

export class AddressGuard {
  readonly #options: AddressGuardOptions
  readonly #nodesByIP = new SharedIndex()
  readonly #slicesByEndpoint = new SharedIndex()
  readonly #podRanges: PrefixIndex
  readonly #serviceRanges: PrefixIndex

  /** Knows what is in the catalog already. */
  constructor(options: AddressGuardOptions) {
    this.#options = options
    const { family, catalog, policy } = options
    this.#podRanges = new PrefixIndex(family)
    this.#serviceRanges = new PrefixIndex(family)
    for (const cidr of policy.podRanges) this.#podRanges.add(cidr)
    for (const node of catalog.nodes.values()) this.nodeChanged(undefined, node)
    for (const ranges of catalog.serviceCidrs.values()) this.serviceCidrChanged(undefined, ranges)
    for (const [key, slice] of catalog.slices) this.sliceChanged(key, undefined, slice)
  }

  /** Whether it takes the address away from a Service of the namespace, or is only said. */
  refuses({ takenAs }: Objection, namespace: string): boolean {
    return takenAs === 'notAllowed' || this.#modeOf(namespace) === 'deny'
  }

  /** Whether more than `externalIPCidrs` counts for Services of the namespace. */
  minds(namespace: string): boolean {
    return this.#modeOf(namespace) !== 'off'
  }

  objectionTo({ namespace, kind, ip }: NamedAddress): Objection | undefined {
    const { externalIPCidrs } = this.#options.policy
    const isAllowed = kind !== 'externalIP' || externalIPCidrs.length === 0
    if (!isAllowed && !externalIPCidrs.some((cidr) => cidrContains(cidr, ip))) return { takenAs: 'notAllowed' }
    if (!this.minds(namespace) || isLoopback(ip)) return undefined
    const node = this.#nodeAt(ip)
    if (node !== undefined) return { takenAs: 'node', node }
    const owner = this.#podOfAnother(namespace, ip)
    if (owner !== undefined) return { takenAs: 'endpoint', owner }
    const podRange = this.#podRanges.find(ip)
    if (podRange !== undefined) return { takenAs: 'podRange', range: podRange }
    const serviceRange = this.#serviceRanges.find(ip)
    return serviceRange === undefined ? undefined : { takenAs: 'serviceRange', range: serviceRange }
  }

  nodeChanged(previous: NodeRecord | undefined, current: NodeRecord | undefined): GuardChange {
    if (!this.#isOn) return noChange
    const [before, after] = [addressesOf(previous), addressesOf(current)]
    for (const ip of before) this.#nodesByIP.delete(ip, keyOf(previous))
    for (const ip of after) this.#nodesByIP.add(ip, keyOf(current))
    return {
      ips: [...before, ...after].filter((ip) => before.includes(ip) !== after.includes(ip)),
      ranges: exchanged(this.#podRanges, podRangesOf(previous), podRangesOf(current)),
    }
  }

  serviceCidrChanged(previous: ServiceCidrRecord | undefined, current: ServiceCidrRecord | undefined): GuardChange {
    if (!this.#isOn) return noChange
    return { ips: [], ranges: exchanged(this.#serviceRanges, previous?.cidrs ?? [], current?.cidrs ?? []) }
  }

  sliceChanged(key: ObjectKey, previous: SliceRecord | undefined, current: SliceRecord | undefined): GuardChange {
    if (!this.#isOn) return noChange
    const [before, after] = [this.#podsOf(previous), this.#podsOf(current)]
    const ips: string[] = []
    for (const ip of before)
      if (!after.has(ip)) {
        this.#slicesByEndpoint.delete(ip, key)
        ips.push(ip)
      }
    for (const ip of after)
      if (!before.has(ip)) {
        this.#slicesByEndpoint.add(ip, key)
        ips.push(ip)
      }
    return { ips, ranges: [] }
  }

  #modeOf(_namespace: string): GuardPolicy['mode'] {
    return this.#options.policy.mode
  }

  get #isOn(): boolean {
    return this.#options.policy.mode !== 'off'
  }

  #nodeAt(ip: string): string | undefined {
    const { nodeIPs, nodeName } = this.#options
    return nodeIPs().includes(ip) ? nodeName : this.#nodesByIP.all(ip).toSorted()[0]
  }

  #podOfAnother(namespace: string, ip: string): ObjectKey | undefined {
    const slices = this.#slicesByEndpoint.all(ip).flatMap((key) => this.#options.catalog.slices.get(key) ?? [])
    const others = slices.filter((slice) => slice.namespace !== namespace)
    return others.map(serviceKeyOf).sort()[0]
  }

  /**
   * Endpoints that say on which node they run. Others are written by hand and may be anywhere, at the load balancer of
   * somebody else, too: who names an address as endpoint must not take it away from those who have it.
   */
  #podsOf(slice: SliceRecord | undefined): ReadonlySet<string> {
    if (slice === undefined || slice.family !== this.#options.family) return noPods
    const isTrusted = serviceKeyOf(slice) === apiServerService
    const pods = new Set<string>()
    for (const { ip, nodeName } of slice.endpoints) if (isTrusted || nodeName !== '') pods.add(ip)
    return pods
  }
}

const noPods: ReadonlySet<string> = new Set()

function keyOf(node: NodeRecord | undefined): ObjectKey {
  return objectKey({ name: node?.name ?? '' })
}

function addressesOf(node: NodeRecord | undefined): readonly string[] {
  return node === undefined ? [] : [...node.ips, ...(node.otherIps ?? [])]
}

function podRangesOf(node: NodeRecord | undefined): readonly Cidr[] {
  return (node?.podCIDRs ?? []).flatMap((text) => parseCidr(text) ?? [])
}

/** Returns those that are in one of the lists only. */
function exchanged(index: PrefixIndex, before: readonly Cidr[], after: readonly Cidr[]): readonly Cidr[] {
  for (const cidr of before) index.delete(cidr)
  for (const cidr of after) index.add(cidr)
  const [old, now] = [before, after].map((cidrs) => new Set(cidrs.map(renderCidr)))
  return [...before, ...after].filter((cidr) => old?.has(renderCidr(cidr)) !== now?.has(renderCidr(cidr)))
}
