/**
 * The fence: external and load-balancer IPs that are not for a Service to take, although no other Service claims them
 * (CVE-2020-8554). What is known of the cluster is indexed by address and by prefix, so that a change costs what it touches.
 */
import { objectKey } from '../../api/records.ts'
import type {
  guardModes,
  NamespaceRecord,
  NodeRecord,
  ObjectKey,
  ServiceCidrRecord,
  SliceRecord,
} from '../../api/records.ts'
import { cidrContains, isLoopback, parseCidr, renderCidr } from '../../net/ip.ts'
import type { Cidr, Family } from '../../net/ip.ts'
import { serviceKeyOf } from '../catalog.ts'
import type { Catalog } from '../catalog.ts'
import { isSameData } from '../same-data.ts'
import { PrefixIndex } from './prefix-index.ts'
import { SharedIndex } from './shared-index.ts'

export interface GuardPolicy {
  /** Whether an address that belongs to the cluster or to another namespace is served. */
  readonly mode: (typeof guardModes)[number]
  /** External IPs outside of these get nothing; empty: all are allowed. */
  readonly externalIPCidrs: readonly Cidr[]
  /** Whether annotations of a Namespace change both for its Services. */
  readonly byNamespace: boolean
  /** Ranges of pods, besides those of the Nodes. */
  readonly podRanges: readonly Cidr[]
}

/** Who has decided: the flags, or an annotation of the Service's namespace. */
export type GuardSource = 'flags' | 'namespace'

/** What speaks against an address that a Service names. */
export type Objection =
  | { readonly takenAs: 'notAllowed'; readonly by: GuardSource }
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
  /** All that its Services name. */
  readonly namespace?: string
}

export interface AddressGuardOptions {
  readonly family: Family
  readonly catalog: Pick<Catalog, 'slices' | 'nodes' | 'serviceCidrs' | 'namespaces'>
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

  /** Who says whether such addresses of the namespace are served. */
  modeBy(namespace: string): GuardSource {
    return this.#namespace(namespace)?.externalIPGuard === undefined ? 'flags' : 'namespace'
  }

  /** Whether more than `externalIPCidrs` counts for Services of the namespace. */
  minds(namespace: string): boolean {
    return this.#modeOf(namespace) !== 'off'
  }

  objectionTo({ namespace, kind, ip }: NamedAddress): Objection | undefined {
    if (kind === 'externalIP') {
      const by = this.#refusingRanges(namespace, ip)
      if (by !== undefined) return { takenAs: 'notAllowed', by }
    }
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
    // Who is said to have an address is its Service.
    if (previous?.serviceName !== current?.serviceName) for (const ip of before) if (after.has(ip)) ips.push(ip)
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

  namespaceChanged(previous: NamespaceRecord | undefined, current: NamespaceRecord | undefined): GuardChange {
    const namespace = (current ?? previous)?.name
    const isNews =
      this.#options.policy.byNamespace &&
      !isSameData(
        [previous?.externalIPGuard, previous?.externalIPCidrs],
        [current?.externalIPGuard, current?.externalIPCidrs],
      )
    return isNews && namespace !== undefined ? { ...noChange, namespace } : noChange
  }

  #namespace(name: string): NamespaceRecord | undefined {
    const { policy, catalog } = this.#options
    return policy.byNamespace ? catalog.namespaces.get(objectKey({ name })) : undefined
  }

  #modeOf(namespace: string): GuardPolicy['mode'] {
    return this.#namespace(namespace)?.externalIPGuard ?? this.#options.policy.mode
  }

  /** Whose ranges do not have the address. */
  #refusingRanges(namespace: string, ip: string): GuardSource | undefined {
    const own = this.#namespace(namespace)?.externalIPCidrs
    const ranges = own ?? this.#options.policy.externalIPCidrs
    // Without a flag all are allowed; a namespace that names no range has said so.
    if (own === undefined && ranges.length === 0) return undefined
    if (ranges.some((cidr) => cidrContains(cidr, ip))) return undefined
    return own === undefined ? 'flags' : 'namespace'
  }

  /** A namespace may turn on what is off elsewhere, at any time. */
  get #isOn(): boolean {
    const { mode, byNamespace } = this.#options.policy
    return mode !== 'off' || byNamespace
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
