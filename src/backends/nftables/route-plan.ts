/** What one Service port needs in the table. */
import type { TrafficPolicy } from '../../api/records.ts'
import { routeName } from '../../core/route.ts'
import type { Entrance, Outcome, RangeEntrance, Route } from '../../core/route.ts'
import { disjointCidrs } from '../../net/disjoint-cidrs.ts'
import { cidrContains, parseCidr } from '../../net/ip.ts'
import type { ContainerName } from './containers.ts'
import { addressMaps, nodePortMaps, rangeMaps } from './entrance-maps.ts'
import type { EntranceMaps, Limit } from './entrance-maps.ts'
import { rejectChain } from './fixed-chains.ts'
import { limitChainAt, limitChains, limitsOf } from './limit-chains.ts'
import { noOwnChains } from './own-chains.ts'
import type { OwnChains } from './own-chains.ts'
import { pickChainName, withPrerequisites } from './pick-chains.ts'
import type { PickChain } from './pick-chains.ts'
import { pickingOf } from './picking.ts'
import type { Picking } from './picking.ts'
import { hostCidr, prefixText } from './prefix-text.ts'
import type { NftablesSettings } from './settings.ts'
import { stickyChainAt, stickyChains } from './sticky-chains.ts'

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
  /** Each once: whoever compares them with what is there counts them. */
  readonly elements: readonly PlannedElement[]
  /** Most are shared with all Services that have as many endpoints; each after those that it leads to. */
  readonly pickChains: readonly PickChain[]
  readonly own: OwnChains
}

export const emptyRoutePlan: RoutePlan = { elements: [], pickChains: [], own: noOwnChains }

export function planRoute(route: Route, settings: NftablesSettings): RoutePlan {
  const draft = new Draft(route)
  const { entrances, ranges = [] } = route
  for (const entrance of entrances) draft.addEntrance(entrance)
  for (const range of ranges) draft.addEntrance(range)
  for (const entrance of entrances) draft.addAllowedSources(entrance)
  for (const range of ranges) draft.addAllowedSources(range)
  draft.addHairpin()
  if (ranges.length > 0) draft.addRangeHairpin()
  draft.addTrackedExceptions(settings)
  return {
    elements: draft.elements,
    pickChains: [...draft.pickChains.values()],
    own: ownChains(route, settings),
  }
}

function ownChains(route: Route, settings: NftablesSettings): OwnChains {
  const { affinitySeconds, reachableEndpoints } = route
  // Whoever serves: a Service that has just nobody keeps the count of what is open.
  const limits = limitChains(route, settings)
  if (affinitySeconds === undefined || reachableEndpoints.length === 0) return limits
  const { sets, chains } = stickyChains(route, affinitySeconds, settings)
  return { sets: [...sets, ...limits.sets], chains: [...chains, ...limits.chains] }
}

/** Where an entrance is looked up. */
interface Place {
  readonly entrance: Entrance
  readonly maps: EntranceMaps
  readonly key: string
}

type AnyEntrance = Entrance | RangeEntrance

type Forward = Extract<Outcome, { readonly kind: 'forward' }>

class Draft {
  readonly elements: PlannedElement[] = []
  readonly pickChains = new Map<string, PickChain>()
  readonly #route: Route
  readonly #isSticky: boolean
  readonly #limits: readonly Limit[]
  readonly #name: string
  readonly #protocol: string
  /** A Service may name an address twice, even its cluster IP: each is one element, that of the first entrance. */
  readonly #keys = new Set<string>()
  readonly #restrictedKeys = new Set<string>()
  readonly #pickings = new Map<TrafficPolicy, Picking>()

  constructor(route: Route) {
    this.#route = route
    this.#isSticky = route.affinitySeconds !== undefined
    this.#limits = limitsOf(route)
    this.#name = routeName(route)
    this.#protocol = route.protocol.toLowerCase()
  }

  addEntrance(entrance: AnyEntrance): void {
    const place = this.#placeOf(entrance)
    if (this.#keys.has(place.key)) return
    this.#keys.add(place.key)
    const { inside, outside } = entrance
    if (entrance.kind === 'cluster-ip') this.#addClusterIp(entrance.ip)
    if (outside.kind !== 'forward') this.#addUnserved(place, outside)
    if (inside.kind !== 'forward' && outside.kind !== 'forward') return
    if (this.#isSticky) this.#addService(place, stickyChainAt(this.#route, entrance, place.maps.keepsPort))
    else if (entrance.keepsSourceOf === 'all-but-node') this.#addSplit(place, inside, outside)
    else if (outside.kind === 'forward')
      this.#addPick(place, entrance.keepsSourceOf === 'nobody' ? 'external' : 'pick', outside)
  }

  addAllowedSources(entrance: AnyEntrance): void {
    const { key, maps } = this.#placeOf(entrance)
    const { allowed } = entrance
    if (allowed === undefined || this.#restrictedKeys.has(key)) return
    this.#restrictedKeys.add(key)
    const ranges = disjointCidrs([...allowed.ranges, ...allowed.ownAddresses.map(hostCidr)]).map(prefixText)
    this.#add(maps.keepsPort ? 'restricted-ranges' : 'restricted', key, {
      companions: ranges.map((range) => plannedElement('source-ranges', `${key} . ${range}`)),
    })
  }

  addHairpin(): void {
    for (const { ip, port, isLocal } of this.#route.reachableEndpoints)
      if (isLocal) this.#add('hairpin', `${ip} . ${ip} . ${this.#protocol} . ${port}`)
  }

  addRangeHairpin(): void {
    const ips = new Set<string>()
    for (const { ip, isLocal } of this.#route.reachableEndpoints) if (isLocal) ips.add(ip)
    for (const ip of ips) this.#add('range-hairpin', `${ip} . ${ip} . ${this.#protocol}`)
  }

  addTrackedExceptions({ untrackedRanges }: NftablesSettings): void {
    if (untrackedRanges === undefined) return
    const ranges = untrackedRanges.flatMap((text) => parseCidr(text) ?? [])
    const ips = new Set<string>()
    for (const entrance of [...this.#route.entrances, ...(this.#route.ranges ?? [])])
      if (entrance.kind !== 'node-port') ips.add(entrance.ip)
    for (const ip of ips) if (ranges.some((range) => cidrContains(range, ip))) this.#add('tracked-ips', ip)
  }

  /** A port and a range of ports may be at the same one. */
  #addClusterIp(ip: string): void {
    if (!this.elements.some(({ container, key }) => container === 'cluster-ips' && key === ip))
      this.#add('cluster-ips', ip)
  }

  #addPick(place: Place, kind: 'pick' | 'external', outcome: Forward): void {
    const { maps, key } = place
    const picking = this.#pickingOf(outcome)
    this.#addService(place, this.#use(kind, maps, picking), slotElements(maps, 'endpoints', key, picking))
  }

  /** Pods and programs here may use other endpoints than clients outside, even where those have none. */
  #addSplit(place: Place, inside: Outcome, outside: Outcome): void {
    const { maps, key } = place
    const all = inside.kind === 'forward' ? this.#pickingOf(inside) : undefined
    const pick = this.#use('external-local', maps, all)
    const elements = [slotElements(maps, 'endpoints', key, all)]
    if (outside.kind === 'forward') {
      const here = this.#pickingOf(outside)
      const value = `goto ${this.#use('pick-local', maps, here)}`
      elements.push([plannedElement(maps.localServices, key, { value, comment: this.#name })])
      elements.push(slotElements(maps, 'localEndpoints', key, here))
    }
    this.#addService(place, pick, elements.flat())
  }

  #addUnserved({ maps, key }: Place, { kind }: Exclude<Outcome, Forward>): void {
    this.#add(maps.noEndpoints, key, { value: kind === 'drop' ? 'drop' : `goto ${rejectChain}`, comment: this.#name })
  }

  #addService(place: Place, chain: string, companions: readonly PlannedElement[] = alone): void {
    const { maps, key, entrance } = place
    const comment = this.#name
    const value = `goto ${chain}`
    if (this.#limits.length === 0) return this.#add(maps.services, key, { value, comment, companions })
    this.#add(maps.services, key, {
      value: `goto ${limitChainAt(this.#route, entrance)}`,
      comment,
      companions: [
        ...companions,
        plannedElement(maps.limitedServices, key, { value, comment }),
        ...this.#limits.map((limit) => plannedElement(maps.refused[limit], key, { comment })),
      ],
    })
  }

  /** All entrances with a policy lead to the same endpoints. */
  #pickingOf(outcome: Forward): Picking {
    const known = this.#pickings.get(outcome.policy) ?? pickingOf(this.#route, outcome)
    this.#pickings.set(outcome.policy, known)
    return known
  }

  #use(kind: PickChain['kind'], maps: EntranceMaps, picking: Picking | undefined): string {
    const { by = 'chance', turnsOf = '', slots = [] } = picking ?? {}
    const chain: PickChain = { kind, maps, choices: slots.length, by, turnsOf }
    for (const each of withPrerequisites(chain)) this.pickChains.set(pickChainName(each), each)
    return pickChainName(chain)
  }

  #add(...args: Parameters<typeof plannedElement>): void {
    this.elements.push(plannedElement(...args))
  }

  #placeOf(entrance: AnyEntrance): Place {
    const protocolAndPort = `${this.#protocol} . ${entrance.port}`
    if (entrance.kind === 'node-port') return { entrance, maps: nodePortMaps, key: protocolAndPort }
    const key = `${entrance.ip} . ${protocolAndPort}`
    if (!('lastPort' in entrance)) return { entrance, maps: addressMaps, key }
    const { port, lastPort } = entrance
    return { entrance, maps: rangeMaps, key: lastPort === port ? key : `${key}-${lastPort}` }
  }
}

function slotElements(
  maps: EntranceMaps,
  map: 'endpoints' | 'localEndpoints',
  key: string,
  picking: Picking | undefined,
): readonly PlannedElement[] {
  if (picking === undefined) return alone
  return picking.slots.map(({ ip, port }, slot) =>
    plannedElement(maps[map], `${key} . ${slot}`, { value: maps.keepsPort ? ip : `${ip} . ${port}` }),
  )
}
