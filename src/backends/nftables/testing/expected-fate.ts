/**
 * What kube-proxy 1.36 does with a packet, worked out from the Routes: the maps that it fills for each Service port,
 * and what its fixed chains do with them. Where several Services want one key, the first by name has it.
 */
import type { NodeView } from '../../../core/backend.ts'
import type { Endpoint, Entrance, RangeEntrance, Route, RouteKey } from '../../../core/route.ts'
import type { Cidr } from '../../../net/ip.ts'
import { cidrContains, isLoopback } from '../../../net/ip.ts'
import type { NftablesState } from '../settings.ts'
import { describeArrival, fateOf } from './fate.ts'
import type { Fate } from './fate.ts'
import { impossible, oneIn } from './fraction.ts'
import type { Fraction } from './fraction.ts'
import { isLocalAddress } from './packet.ts'
import type { Packet, PacketNode } from './packet.ts'
import { parsePrefix } from './prefix.ts'

/** The endpoint that served a client last, by Service port with client-IP affinity. */
export type Served = ReadonlyMap<RouteKey, string>

export class ExpectedFates {
  readonly #state: NftablesState
  readonly #node: PacketNode
  readonly #serviceCidrs: readonly Cidr[]
  readonly #podCidr: Cidr | undefined
  readonly #untracked: readonly Cidr[]
  readonly #clusterIps = new Set<string>()
  readonly #services = new FirstComeMap<Destination>()
  readonly #nodePorts = new FirstComeMap<Destination>()
  readonly #noEndpoints = new FirstComeMap<'dropped' | 'rejected'>()
  readonly #noEndpointNodePorts = new FirstComeMap<'dropped' | 'rejected'>()
  readonly #firewalls = new FirstComeMap<readonly Cidr[]>()
  readonly #hairpins = new Set<string>()

  constructor({ routesByKey, serviceCidrs }: NodeView, state: NftablesState, node: PacketNode) {
    this.#state = state
    this.#node = node
    this.#serviceCidrs = serviceCidrs.map(parsePrefix)
    const { localTraffic } = state.settings
    this.#podCidr = localTraffic.kind === 'cidr' ? parsePrefix(localTraffic.cidr) : undefined
    this.#untracked = (state.settings.untrackedRanges ?? []).map(parsePrefix)
    for (const key of [...routesByKey.keys()].sort()) {
      const route = routesByKey.get(key)
      if (route !== undefined) this.#add(route)
    }
  }

  of(packet: Packet, served: Served = new Map()): Fate {
    if (!this.#mayPass(packet)) return fateOf([{ chance: oneIn(1), outcome: 'dropped' }])
    const { isMarked, endpoints } = this.#translate(packet, served)
    if (endpoints.length === 0)
      return fateOf([{ chance: oneIn(1), outcome: this.#outcome(packet, undefined, isMarked) }])
    const chances = chancesOf(endpoints)
    return fateOf(
      endpoints.map((endpoint, index) => ({
        chance: chances[index] ?? impossible,
        outcome: this.#outcome(packet, endpoint, isMarked),
      })),
    )
  }

  /** The Service port that the packet is for, whether or not it has endpoints for it. */
  servedBy(packet: Packet): Route | undefined {
    return this.#mayPass(packet) ? this.#find(packet)?.route : undefined
  }

  /** What a Service port adds to the maps. */
  #add(route: Route): void {
    const protocol = route.protocol.toLowerCase()
    this.#clusterIps.add(route.clusterIP)
    const places = new Set<string>()
    for (const entrance of [...route.entrances, ...everyPortOf(route)]) {
      const { inside, outside, allowed } = entrance
      const isNodePort = entrance.kind === 'node-port'
      const key = isNodePort ? `${protocol} ${entrance.port}` : `${entrance.ip} ${protocol} ${entrance.port}`
      if (allowed !== undefined) this.#firewalls.add(key, [...allowed.ranges, ...allowed.ownAddresses].map(parsePrefix))
      // A Service may list its cluster IP again: that makes it no external address.
      if (places.has(key)) continue
      places.add(key)
      if (inside.kind === 'forward' || outside.kind === 'forward')
        (isNodePort ? this.#nodePorts : this.#services).add(key, { route, entrance })
      if (outside.kind !== 'forward')
        (isNodePort ? this.#noEndpointNodePorts : this.#noEndpoints).add(
          key,
          outside.kind === 'drop' ? 'dropped' : 'rejected',
        )
    }
    for (const endpoint of route.reachableEndpoints)
      if (endpoint.isLocal) {
        this.#hairpins.add(`${endpoint.ip} ${protocol} ${endpoint.port}`)
        if (route.ranges !== undefined) this.#hairpins.add(`${endpoint.ip} ${protocol}`)
      }
  }

  #mayPass(packet: Packet): boolean {
    const { source } = packet
    const ranges = this.#firewalls.get(targetOf(packet))
    return ranges === undefined || ranges.some((range) => cidrContains(range, source))
  }

  /** Who may get the packet, each as likely as its weight says; nobody when it keeps its destination. */
  #translate(packet: Packet, served: Served): { readonly isMarked: boolean; readonly endpoints: readonly Endpoint[] } {
    const { masqueradeAll, localTraffic } = this.#state.settings
    const isFromPod = this.#isFromPod(packet)
    const isToClusterIp = this.#clusterIps.has(packet.destination)
    const isMarked = isToClusterIp && (masqueradeAll || (localTraffic.kind !== 'none' && !isFromPod))
    const found = this.#find(packet)
    if (found === undefined) return { isMarked, endpoints: [] }
    const { route, entrance } = found
    const isFromNode = isLocalAddress(this.#node, packet.source)
    const { inside, outside, keepsSourceOf } = entrance
    const outcome = isFromPod || isFromNode ? inside : outside
    const isHidden = keepsSourceOf === 'nobody' || (keepsSourceOf === 'all-but-node' && isFromNode && !isFromPod)
    const endpoints = outcome.kind === 'forward' ? sticky(outcome.to, served.get(route.key)) : []
    return {
      isMarked: isMarked || isHidden,
      endpoints: 'lastPort' in entrance ? endpoints.map((it) => ({ ...it, port: packet.port })) : endpoints,
    }
  }

  #find(packet: Packet): Destination | undefined {
    const { destination, protocol, port } = packet
    const service = this.#services.get(targetOf(packet))
    if (service !== undefined || !this.#isOpenForNodePorts(destination)) return service
    return this.#nodePorts.get(`${protocol} ${port}`)
  }

  /** After translation: is anybody there, and whom does the endpoint see? */
  #outcome(packet: Packet, endpoint: Endpoint | undefined, isMarked: boolean): string {
    const ip = endpoint?.ip ?? packet.destination
    const port = endpoint?.port ?? packet.port
    const now = { ...packet, destination: ip, port }
    const staysHere = isLocalAddress(this.#node, ip)
    const arrival = { endpoint: endpoint === undefined ? undefined : { ip, port } }
    if (packet.enters === 'prerouting' && staysHere)
      return this.#failureHere(now) ?? describeArrival({ ...arrival, isHidden: false })
    const isInHairpins = this.#hairpins.has(targetOf(now)) || this.#hairpins.has(`${ip} ${packet.protocol}`)
    const isToItself = endpoint !== undefined && packet.source === ip && isInHairpins
    const isHidden = isMarked || isToItself || (endpoint !== undefined && this.#isUntracked(packet.source, ip))
    const sent = isHidden ? { ...now, source: this.#node.localIps[0] ?? '' } : now
    return (
      this.#failureOnTheWay(now) ??
      (staysHere ? this.#failureBack(sent) : undefined) ??
      describeArrival({ ...arrival, isHidden })
    )
  }

  /** The answer of the endpoint would not be translated back. */
  #isUntracked(source: string, endpoint: string): boolean {
    return this.#untracked.some((range) => cidrContains(range, source) && cidrContains(range, endpoint))
  }

  /** Of what this node passes on, and of what its programs send. */
  #failureOnTheWay(packet: Packet): string | undefined {
    const { destination } = packet
    const unserved = this.#noEndpoints.get(targetOf(packet))
    if (unserved !== undefined) return unserved
    if (this.#clusterIps.has(destination)) return 'rejected'
    return this.#serviceCidrs.some((cidr) => cidrContains(cidr, destination)) ? 'dropped' : undefined
  }

  /** What the node sends to itself arrives like anything else, but after translation. */
  #failureBack(packet: Packet): string | undefined {
    return this.#mayPass(packet) ? this.#failureHere(packet) : 'dropped'
  }

  #failureHere(packet: Packet): string | undefined {
    const { settings, nodePortIps } = this.#state
    const { destination, protocol, port } = packet
    const isOpen = settings.limitsNodePorts ? nodePortIps.includes(destination) : !isLoopback(destination)
    const closed = isOpen ? this.#noEndpointNodePorts.get(`${protocol} ${port}`) : undefined
    return closed ?? this.#noEndpoints.get(targetOf(packet))
  }

  #isFromPod({ source, inInterface }: Packet): boolean {
    const { localTraffic } = this.#state.settings
    switch (localTraffic.kind) {
      case 'cidr':
        return this.#podCidr !== undefined && cidrContains(this.#podCidr, source)
      case 'interface':
        return inInterface === localTraffic.name
      case 'interface-prefix':
        return inInterface.startsWith(localTraffic.prefix)
      case 'none':
        return false
      default:
        return localTraffic satisfies never
    }
  }

  #isOpenForNodePorts(destination: string): boolean {
    const { settings, nodePortIps } = this.#state
    if (settings.limitsNodePorts) return nodePortIps.includes(destination)
    return isLocalAddress(this.#node, destination) && !isLoopback(destination)
  }
}

interface Destination {
  readonly route: Route
  readonly entrance: Entrance
}

/** Keeps what was added first. */
class FirstComeMap<V> {
  readonly #values = new Map<string, V>()

  add(key: string, value: V): void {
    if (!this.#values.has(key)) this.#values.set(key, value)
  }

  get(key: string): V | undefined {
    return this.#values.get(key)
  }
}

/** The ports of ranges, one by one. */
function everyPortOf({ ranges = [] }: Route): readonly RangeEntrance[] {
  return ranges.flatMap((range) =>
    Array.from({ length: range.lastPort - range.port + 1 }, (_, index) => ({ ...range, port: range.port + index })),
  )
}

/** Where nobody has a weight, all of them are alike. */
function chancesOf(endpoints: readonly Endpoint[]): readonly Fraction[] {
  const under = endpoints.reduce((sum, { weight }) => sum + weight, 0)
  return endpoints.map(({ weight }) => (under === 0 ? oneIn(endpoints.length) : { over: weight, under }))
}

/** Whoever served the client before, if it may still. */
function sticky(endpoints: readonly Endpoint[], before: string | undefined): readonly Endpoint[] {
  const known = endpoints.filter(({ address }) => address === before)
  return known.length > 0 ? known : endpoints
}

function targetOf({ destination, protocol, port }: Packet): string {
  return `${destination} ${protocol} ${port}`
}
