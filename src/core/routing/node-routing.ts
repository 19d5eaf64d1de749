/**
 * What this node makes of one Service, as of now: which of the addresses that it names it gets, what is wrong with it, and its
 * Routes. It knows where the node is and which policy runs, and nothing of what is programmed.
 */
import type { NodeRecord, ObjectKey, ServiceRecord, SliceRecord } from '../../api/records.ts'
import { familyOf } from '../../net/ip.ts'
import type { Family } from '../../net/ip.ts'
import type { Catalog } from '../catalog.ts'
import type { Route } from '../route.ts'
import { isSameData } from '../same-data.ts'
import { AddressClaims } from './address-claims.ts'
import type { RefusedClaim, RefusedService } from './address-claims.ts'
import { routesOf } from './router.ts'
import type { RouterContext } from './router.ts'
import { noticesAbout } from './service-notices.ts'
import type { NoticeSink, ServiceNotice } from './service-notices.ts'
import type { ServingPolicy } from './serving-policy.ts'

export interface NodeRoutingOptions {
  readonly catalog: Catalog
  readonly family: Family
  readonly nodeName: string
  /** This node's address of the family, as found at start. */
  readonly nodeIP: string
  /** At first; `setPolicy` changes it. */
  readonly policy: ServingPolicy
  readonly notices: NoticeSink
}

const noRoutes: readonly Route[] = []

export class NodeRouting {
  readonly #options: NodeRoutingOptions
  #claims: AddressClaims
  #zone = ''
  #nodeIPs: readonly string[]
  #policy: ServingPolicy

  constructor(options: NodeRoutingOptions) {
    this.#options = options
    this.#policy = options.policy
    this.#nodeIPs = [options.nodeIP]
    this.#claims = this.#newClaims()
  }

  get zone(): string {
    return this.#zone
  }

  /** All of the family that the Node object names; the one to use comes first. */
  get nodeIPs(): readonly string[] {
    return this.#nodeIPs
  }

  get policy(): ServingPolicy {
    return this.#policy
  }

  /** Returns whether it is another one: then every Service has to be routed again. */
  setPolicy(policy: ServingPolicy): boolean {
    if (isSameData(policy, this.#policy)) return false
    this.#policy = policy
    // Who names which address depends on it.
    this.#claims = this.#newClaims()
    for (const [key, service] of this.#options.catalog.services) this.#claims.replace(key, undefined, service)
    return true
  }

  /** Returns other Services that may get an address now, or lose one. */
  serviceChanged(
    key: ObjectKey,
    previous: ServiceRecord | undefined,
    current: ServiceRecord | undefined,
  ): Iterable<ObjectKey> {
    return this.#claims.replace(key, previous, current)
  }

  /** Returns whether it is in another one than before: then every Service has to be routed again. */
  setZone(zone: string): boolean {
    const isNews = zone !== this.#zone
    this.#zone = zone
    return isNews
  }

  /**
   * Returns the Services that name an address which became the node's, or is no more: they may lose it to a node port, or get
   * it back.
   */
  setNodeIPs({ ips, otherIps = [] }: NodeRecord): readonly ObjectKey[] {
    const { family, nodeIP } = this.#options
    const own = [...ips, ...otherIps].filter((ip) => familyOf(ip) === family)
    const before = this.#nodeIPs
    this.#nodeIPs = [...new Set([nodeIP, ...own])]
    const changed = [...before, ...this.#nodeIPs].filter((ip) => before.includes(ip) !== this.#nodeIPs.includes(ip))
    return changed.flatMap((ip) => [...this.#claims.namersOf(ip)])
  }

  /** The Services that name the place and do not get it. */
  refusedAt(place: Parameters<AddressClaims['refusedAt']>[0]): readonly RefusedService[] {
    return this.#claims.refusedAt(place)
  }

  /** What is wrong with a Service. */
  noticesOf(service: ObjectKey): readonly ServiceNotice[] {
    const record = this.#options.catalog.services.get(service)
    return record === undefined ? [] : this.#notices(record, this.#slicesOf(service), this.#claims.refusedOf(service))
  }

  /** Tells what is wrong with it on the way. */
  routesOf(service: ObjectKey): readonly Route[] {
    const { catalog, family, notices } = this.#options
    const record = catalog.services.get(service)
    if (record === undefined) {
      notices.tell(family, service, [])
      return noRoutes
    }
    const slices = this.#slicesOf(service)
    const refused = this.#claims.refusedOf(service)
    notices.tell(family, service, this.#notices(record, slices, refused))
    return routesOf(record, slices, this.#context, refused)
  }

  #newClaims(): AddressClaims {
    const { catalog, family } = this.#options
    return new AddressClaims({ family, nodeIPs: () => this.#nodeIPs, services: catalog.services, ...this.#policy })
  }

  #notices(
    record: ServiceRecord,
    slices: readonly SliceRecord[],
    refused: readonly RefusedClaim[],
  ): readonly ServiceNotice[] {
    return noticesAbout(record, slices, this.#context, refused, this.#nodeIPs)
  }

  #slicesOf(service: ObjectKey): readonly SliceRecord[] {
    return [...this.#options.catalog.slicesOf(service).values()]
  }

  get #context(): RouterContext {
    const { family, nodeName, nodeIP } = this.#options
    return { family, nodeName, nodeIP, policy: this.#policy, zone: this.#zone }
  }
}
