/**
 * What this node makes of one Service, as of now: which of the addresses that it names it gets, what is wrong with it, and its
 * Routes. It knows where the node is and which policy runs, and nothing of what is programmed.
 */
import type {
  NamespaceRecord,
  NodeRecord,
  ObjectKey,
  ServiceCidrRecord,
  ServiceRecord,
  SliceRecord,
} from '../../api/records.ts'
import { familyOf } from '../../net/ip.ts'
import type { Family } from '../../net/ip.ts'
import type { EndpointCare } from '../care/endpoint-care.ts'
import type { Catalog } from '../catalog.ts'
import type { Route } from '../route.ts'
import { isSameData } from '../same-data.ts'
import { AddressClaims } from './address-claims.ts'
import type { Judgement, RefusedService } from './address-claims.ts'
import { AddressGuard } from './address-guard.ts'
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
  /** Without it, weights are what the rules of Services say, and nobody asks endpoints. */
  readonly care?: Pick<EndpointCare, 'findingsOf' | 'routed' | 'noticesOf' | 'subscribe'>
}

const noRoutes: readonly Route[] = []

export class NodeRouting {
  readonly #options: NodeRoutingOptions
  #guard: AddressGuard
  #claims: AddressClaims
  #zone = ''
  #nodeIPs: readonly string[]
  #policy: ServingPolicy

  constructor(options: NodeRoutingOptions) {
    this.#options = options
    this.#policy = options.policy
    this.#nodeIPs = [options.nodeIP]
    this.#guard = this.#newGuard()
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
    this.#guard = this.#newGuard()
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

  /** Returns the Services that may lose an address or a node port because of what is the node's now, or get it back. */
  setNodeIPs({ ips, otherIps = [] }: NodeRecord): Iterable<ObjectKey> {
    const { family, nodeIP } = this.#options
    const own = [...ips, ...otherIps].filter((ip) => familyOf(ip) === family)
    const before = this.#nodeIPs
    this.#nodeIPs = [...new Set([nodeIP, ...own])]
    const changed = [...before, ...this.#nodeIPs].filter((ip) => before.includes(ip) !== this.#nodeIPs.includes(ip))
    return this.#claims.nodeIPsChanged(changed)
  }

  /** Each of these returns the Services that name an address of which the guard may think otherwise now. */
  nodeChanged(previous: NodeRecord | undefined, current: NodeRecord | undefined): Iterable<ObjectKey> {
    return this.#claims.guardChanged(this.#guard.nodeChanged(previous, current))
  }

  serviceCidrChanged(
    previous: ServiceCidrRecord | undefined,
    current: ServiceCidrRecord | undefined,
  ): Iterable<ObjectKey> {
    return this.#claims.guardChanged(this.#guard.serviceCidrChanged(previous, current))
  }

  namespaceChanged(previous: NamespaceRecord | undefined, current: NamespaceRecord | undefined): Iterable<ObjectKey> {
    return this.#claims.guardChanged(this.#guard.namespaceChanged(previous, current))
  }

  sliceChanged(
    key: ObjectKey,
    previous: SliceRecord | undefined,
    current: SliceRecord | undefined,
  ): Iterable<ObjectKey> {
    return this.#claims.guardChanged(this.#guard.sliceChanged(key, previous, current))
  }

  /** The Services that name the place and do not get it. */
  refusedAt(place: Parameters<AddressClaims['refusedAt']>[0]): readonly RefusedService[] {
    return this.#claims.refusedAt(place)
  }

  /** What is wrong with a Service. */
  noticesOf(service: ObjectKey): readonly ServiceNotice[] {
    const record = this.#options.catalog.services.get(service)
    return record === undefined
      ? []
      : this.#notices(service, record, this.#slicesOf(service), this.#claims.judge(service))
  }

  /** Tells what is wrong with it on the way. */
  routesOf(service: ObjectKey): readonly Route[] {
    const { catalog, family, notices, care } = this.#options
    const record = catalog.services.get(service)
    if (record === undefined) {
      care?.routed(service, undefined, noRoutes)
      notices.tell(family, service, [])
      return noRoutes
    }
    const slices = this.#slicesOf(service)
    const judgement = this.#claims.judge(service)
    const findings = care?.findingsOf(service, record, slices)
    const routes = routesOf(record, slices, this.#context, judgement.refused, findings)
    care?.routed(service, record, routes)
    notices.tell(family, service, this.#notices(service, record, slices, judgement))
    return routes
  }

  #newGuard(): AddressGuard {
    const { catalog, family, nodeName } = this.#options
    return new AddressGuard({ catalog, family, nodeName, nodeIPs: () => this.#nodeIPs, policy: this.#policy.guard })
  }

  #newClaims(): AddressClaims {
    const { catalog, family } = this.#options
    const { apiServers, allowExternalIPs, abilities } = this.#policy
    return new AddressClaims({
      family,
      nodeIPs: () => this.#nodeIPs,
      services: catalog.services,
      apiServers,
      portRanges: abilities.portRanges,
      allowExternalIPs,
      guard: this.#guard,
    })
  }

  #notices(
    service: ObjectKey,
    record: ServiceRecord,
    slices: readonly SliceRecord[],
    { refused, guarded }: Judgement,
  ): readonly ServiceNotice[] {
    const notices = noticesAbout(record, slices, this.#context, refused, guarded)
    const found = record.traffic === undefined ? undefined : this.#options.care?.noticesOf(service)
    return found === undefined || found.length === 0 ? notices : [...notices, ...found]
  }

  #slicesOf(service: ObjectKey): readonly SliceRecord[] {
    return [...this.#options.catalog.slicesOf(service).values()]
  }

  get #context(): RouterContext {
    const { family, nodeName, nodeIP } = this.#options
    return { family, nodeName, nodeIP, nodeIPs: this.#nodeIPs, policy: this.#policy, zone: this.#zone }
  }
}
