/** What one Service port needs in the table. */
import { externalOutcome, internalOutcome } from '../../core/routing/outcome.ts'
import { routeName } from '../../core/route.ts'
import type { Endpoint, Outcome, Route } from '../../core/route.ts'
import { disjointCidrs } from '../../net/disjoint-cidrs.ts'
import type { ContainerName } from './containers.ts'
import { rejectChain } from './fixed-chains.ts'
import { addressDoor, nodePortDoor } from './door.ts'
import type { Door } from './door.ts'
import { pickChainName, withPrerequisites } from './pick-chains.ts'
import type { PickChain } from './pick-chains.ts'
import { hostCidr, prefixText } from './prefix-text.ts'
import type { NftablesSettings } from './settings.ts'
import { noStickyChains, stickyChainNames, stickyChains } from './sticky-chains.ts'
import type { StickyChains } from './sticky-chains.ts'

export interface PlannedElement {
  readonly container: ContainerName
  readonly key: string
  /** Empty in a set. */
  readonly value: string
  /** Empty for none. */
  readonly comment: string
  /** Elements of other sets that mean something only with this one: whoever has it has them, and nobody else. */
  readonly companions: readonly PlannedElement[]
}

export function plannedElement(
  container: ContainerName,
  key: string,
  { value = '', comment = '', companions = alone }: Partial<PlannedElement> = {},
): PlannedElement {
  return { container, key, value, comment, companions }
}

const alone: readonly PlannedElement[] = []

export interface RoutePlan {
  readonly elements: readonly PlannedElement[]
  /** Shared with all Services that have as many endpoints; each after those that it leads to. */
  readonly pickChains: readonly PickChain[]
  readonly sticky: StickyChains
}

export function planRoute(route: Route, settings: NftablesSettings): RoutePlan {
  const draft = new Draft(route)
  draft.addInternal()
  for (const ip of externalAddresses(route)) draft.addExternal(byAddress(route, ip))
  if (route.nodePort !== 0) draft.addExternal(byNodePort(route))
  draft.addSourceRanges()
  draft.addHairpin()
  const sticky = route.affinitySeconds > 0 && route.hasUsableEndpoint ? stickyChains(route, settings) : noStickyChains
  return { elements: draft.elements, pickChains: [...draft.pickChains.values()], sticky }
}

/** Each once. Somebody may list the cluster IP again: it keeps the rules of a cluster IP. */
function externalAddresses({ clusterIP, externalIPs, loadBalancerIPs }: Route): ReadonlySet<string> {
  const addresses = new Set([...externalIPs, ...loadBalancerIPs])
  addresses.delete(clusterIP)
  return addresses
}

/** One way to reach a Service port: the key of its elements, and where they belong. */
interface Entrance {
  readonly door: Door
  readonly key: string
}

class Draft {
  readonly elements: PlannedElement[] = []
  readonly pickChains = new Map<string, PickChain>()
  readonly #route: Route
  readonly #name: string
  readonly #isSticky: boolean

  constructor(route: Route) {
    this.#route = route
    this.#name = routeName(route)
    this.#isSticky = route.affinitySeconds > 0
  }

  addInternal(): void {
    const route = this.#route
    const entrance = byAddress(route, route.clusterIP)
    this.#add('cluster-ips', route.clusterIP)
    const outcome = internalOutcome(route)
    if (outcome.kind !== 'forward') return this.#addUnserved(entrance, outcome)
    if (this.#isSticky) {
      const { cluster, local } = stickyChainNames(route)
      return this.#addService(entrance, route.internalPolicy === 'Local' ? local : cluster)
    }
    const pick = this.#use({ kind: 'pick', door: addressDoor, choices: outcome.to.length })
    this.#addService(entrance, pick, endpointElements(entrance.door.endpoints, entrance.key, outcome.to))
  }

  addExternal(entrance: Entrance): void {
    const { door, key } = entrance
    const outcome = externalOutcome(this.#route)
    if (outcome.kind !== 'forward') this.#addUnserved(entrance, outcome)
    if (!this.#route.hasUsableEndpoint) return
    if (this.#isSticky) return this.#addService(entrance, stickyChainNames(this.#route).external)
    if (this.#route.externalPolicy === 'Local') return this.#addExternalLocal(entrance)
    if (outcome.kind !== 'forward') return
    const pick = this.#use({ kind: 'external', door, choices: outcome.to.length })
    this.#addService(entrance, pick, endpointElements(door.endpoints, key, outcome.to))
  }

  /** Even without an endpoint on this node: pods and programs here may use those of others. */
  #addExternalLocal({ door, key }: Entrance): void {
    const { clusterEndpoints: all, localEndpoints: here } = this.#route
    const companions = [...endpointElements(door.endpoints, key, all)]
    const pick = this.#use({ kind: 'external-local', door, choices: all.length })
    if (here.length > 0) {
      const value = `goto ${this.#use({ kind: 'pick-local', door, choices: here.length })}`
      companions.push(plannedElement(door.localServices, key, { value, comment: this.#name }))
      companions.push(...endpointElements(door.localEndpoints, key, here))
    }
    this.#addService({ door, key }, pick, companions)
  }

  addSourceRanges(): void {
    const { sourceRanges, sourceRangesCoverNode, loadBalancerIPs } = this.#route
    if (sourceRanges === undefined) return
    // A node that holds the address of the load balancer uses it as its source.
    const own = sourceRangesCoverNode ? loadBalancerIPs.map(hostCidr) : []
    const ranges = disjointCidrs([...sourceRanges, ...own]).map(prefixText)
    for (const ip of new Set(loadBalancerIPs)) {
      const { key } = byAddress(this.#route, ip)
      const companions = ranges.map((range) => plannedElement('source-ranges', `${key} . ${range}`))
      this.#add('restricted', key, { companions })
    }
  }

  addHairpin(): void {
    const protocol = this.#route.protocol.toLowerCase()
    for (const { ip, port, isLocal } of this.#route.reachableEndpoints)
      if (isLocal) this.#add('hairpin', `${ip} . ${ip} . ${protocol} . ${port}`)
  }

  #addUnserved({ door, key }: Entrance, { kind }: Exclude<Outcome, { readonly kind: 'forward' }>): void {
    this.#add(door.noEndpoints, key, { value: kind === 'drop' ? 'drop' : `goto ${rejectChain}`, comment: this.#name })
  }

  #addService({ door, key }: Entrance, chain: string, companions: readonly PlannedElement[] = alone): void {
    this.#add(door.services, key, { value: `goto ${chain}`, comment: this.#name, companions })
  }

  #use(chain: PickChain): string {
    for (const each of withPrerequisites(chain)) this.pickChains.set(pickChainName(each), each)
    return pickChainName(chain)
  }

  #add(...args: Parameters<typeof plannedElement>): void {
    this.elements.push(plannedElement(...args))
  }
}

function endpointElements(
  container: ContainerName,
  key: string,
  endpoints: readonly Endpoint[],
): readonly PlannedElement[] {
  return endpoints.map(({ ip, port }, index) =>
    plannedElement(container, `${key} . ${index}`, { value: `${ip} . ${port}` }),
  )
}

function byAddress({ protocol, port }: Route, ip: string): Entrance {
  return { door: addressDoor, key: `${ip} . ${protocol.toLowerCase()} . ${port}` }
}

function byNodePort({ protocol, nodePort }: Route): Entrance {
  return { door: nodePortDoor, key: `${protocol.toLowerCase()} . ${nodePort}` }
}
