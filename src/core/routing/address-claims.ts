/**
 * Who gets an address that several Services name. Anybody who may write a Service can name any address as its external
 * IP (CVE-2020-8554), so this is decided here, for every mode alike, and never by the order of events or of rules:
 * a cluster IP first, then a node port, then a load-balancer IP, then an external IP; among equals the older Service,
 * and then the name.
 */
import type { ObjectKey, Protocol, ServiceRecord } from '../../api/records.ts'
import { cidrContains, familyOf } from '../../net/ip.ts'
import type { Family } from '../../net/ip.ts'
import { isSameData } from '../same-data.ts'
import type { AddressGuard, GuardChange, GuardSource, NamedAddress, Objection } from './address-guard.ts'
import { ClaimedPlaces } from './claimed-places.ts'
import type { Rival as RivalOf } from './claimed-places.ts'
import { isCarrier, overlap } from './port-ranges.ts'
import { SharedIndex } from './shared-index.ts'

/** In the order of precedence. */
const claimKinds = ['clusterIP', 'nodePort', 'loadBalancerIP', 'externalIP'] as const

export type ClaimKind = (typeof claimKinds)[number]

/** One way to reach a Service port. */
interface Claim {
  readonly kind: ClaimKind
  readonly protocol: Protocol
  /** Absent for a node port. */
  readonly ip?: string
  readonly port: number
  /** Of a range of ports, which begins with `port`. */
  readonly lastPort?: number
}

/** A claim that another one precedes. */
export interface TakenClaim extends Claim {
  /** What it is instead: an entrance of another Service, or where Fairlead itself reaches the API server. */
  readonly takenAs: ClaimKind | 'apiServer'
  /** The Service that has it. */
  readonly owner: ObjectKey
}

/** One that a Service names and does not get: another has it, or the guard refuses it. */
export type RefusedClaim = TakenClaim | (Claim & Objection)

/** An address that a Service names and that the guard objects to. */
export interface GuardedAddress extends Pick<NamedAddress, 'kind' | 'ip'> {
  readonly objection: Objection
  /** Otherwise it is served all the same. */
  readonly isRefused: boolean
  /** Who says which of the two. */
  readonly by: GuardSource
}

/** What a Service names and does not get, and what it should not name. */
export interface Judgement {
  readonly refused: readonly RefusedClaim[]
  readonly guarded: readonly GuardedAddress[]
}

export interface RefusedService {
  readonly service: ObjectKey
  readonly claim: RefusedClaim
}

/** Where Fairlead itself reaches the API server. */
export interface ApiServerAddress {
  readonly ip: string
  readonly port: number
}

export interface AddressClaimsOptions {
  readonly family: Family
  /** All Services there are. */
  readonly services: ReadonlyMap<ObjectKey, ServiceRecord>
  /** This node's addresses of the family, as of now. */
  readonly nodeIPs: () => readonly string[]
  readonly apiServers: readonly ApiServerAddress[]
  /** Whether the mode serves ranges of ports. */
  readonly portRanges: boolean
  /** Without it, external IPs are nobody's claim. */
  readonly allowExternalIPs: boolean
  readonly guard: Pick<AddressGuard, 'objectionTo' | 'refuses' | 'minds' | 'modeBy'>
}

/** The Service that may have the API server's address. */
const apiServerService = 'default/kubernetes' as ObjectKey

const noFaults: Judgement = { refused: [], guarded: [] }
const noNames: readonly string[] = []

export class AddressClaims {
  readonly #options: AddressClaimsOptions
  readonly #byClusterIP = new SharedIndex()
  readonly #byNodePort = new SharedIndex()
  /** By external or load-balancer IP: alone, and with protocol and port. */
  readonly #byNamedIP: ClaimedPlaces<NamedKind>
  readonly #byNamedAddress: ClaimedPlaces<NamedKind>
  /** The Services of each namespace that name an address. */
  readonly #namersByNamespace = new SharedIndex()
  /** By any address, those that want a range of its ports. */
  readonly #byRangeIP = new SharedIndex()

  constructor(options: AddressClaimsOptions) {
    this.#options = options
    const precedes = (left: Rival, right: Rival) => this.#precedes(left, right)
    this.#byNamedIP = new ClaimedPlaces({ precedes, rivalAt: (service, ip) => this.#rivalAt(service, ip) })
    this.#byNamedAddress = new ClaimedPlaces({ precedes, rivalAt: (service, ip) => this.#rivalAtPort(service, ip) })
  }

  /** A Service came, changed or went. Returns the others that may gain or lose an address by it. */
  replace(
    service: ObjectKey,
    previous: ServiceRecord | undefined,
    current: ServiceRecord | undefined,
  ): ReadonlySet<ObjectKey> {
    const concerned = new Set<ObjectKey>()
    if (previous !== undefined && current !== undefined && isSameData(whatClaims(previous), whatClaims(current)))
      return concerned
    if (previous !== undefined) this.#index(service, previous, 'delete', concerned)
    if (current !== undefined) this.#index(service, current, 'add', concerned)
    return concerned
  }

  /** What the guard knows is another matter now. Returns the Services to which that may make a difference. */
  guardChanged({ ips, ranges, namespace }: GuardChange): ReadonlySet<ObjectKey> {
    const concerned = new Set<ObjectKey>()
    for (const ip of ips) this.#reconsider(ip, concerned)
    if (namespace !== undefined)
      for (const service of this.#namersByNamespace.all(namespace)) {
        const record = this.#options.services.get(service)
        for (const ip of record === undefined ? noNames : this.#namedIPs(record)) this.#reconsider(ip, concerned)
      }
    // Ranges change once in a while, and few addresses are named.
    if (ranges.length > 0)
      for (const ip of this.#byNamedIP.keys())
        if (ranges.some((range) => cidrContains(range, ip))) this.#reconsider(ip, concerned)
    return concerned
  }

  /**
   * These are addresses of this node now, or are no more. Returns the Services that may lose something by it, or get it back: those
   * that name one, and those with a node port where the API server is reached.
   */
  nodeIPsChanged(ips: readonly string[]): ReadonlySet<ObjectKey> {
    const atApiServer = this.#options.apiServers
      .filter(({ ip }) => ips.includes(ip))
      .flatMap(({ port }) => this.#nodePortOwners({ protocol: 'TCP', port }))
    return new Set([...this.guardChanged({ ips, ranges: [] }), ...atApiServer])
  }

  /** Whether a claim counts depends on what the guard says to it. */
  #reconsider(ip: string, concerned: Set<ObjectKey>): void {
    for (const service of this.#byNamedIP.all(ip)) concerned.add(service)
    this.#byNamedIP.forget(ip)
    this.#forgetPortsAt(ip)
  }

  #forgetPortsAt(ip: string): void {
    for (const service of this.#byNamedIP.all(ip))
      for (const { protocol, port } of this.#options.services.get(service)?.ports ?? [])
        this.#byNamedAddress.forget(addressKey(ip, protocol, port))
  }

  /** Those that name the place and do not get it. Without an address, a node port is meant. */
  refusedAt({ ip, protocol, port }: Pick<RefusedClaim, 'ip' | 'protocol' | 'port'>): readonly RefusedService[] {
    const namers =
      ip === undefined
        ? this.#byNodePort.all(nodePortKey(protocol, port))
        : [...this.#byClusterIP.all(ip), ...this.#byNamedIP.all(ip)]
    return [...new Set(namers)].sort().flatMap((service) =>
      this.judge(service)
        .refused.filter((claim) => claim.ip === ip && claim.protocol === protocol && overlap(claim, { port }))
        .map((claim) => ({ service, claim })),
    )
  }

  judge(service: ObjectKey): Judgement {
    const record = this.#options.services.get(service)
    if (record === undefined || !this.#mayBeContested(service, record)) return noFaults
    const guarded = this.#guardedOf(record)
    const objections = new Map(guarded.filter(({ isRefused }) => isRefused).map(({ ip, objection }) => [ip, objection]))
    const refused = this.#claimsOf(record).flatMap((claim): readonly RefusedClaim[] => {
      const taken = this.#refusal(service, claim)
      if (taken !== undefined) return [taken]
      const objection = objections.get(claim.ip ?? '')
      return objection === undefined ? [] : [{ ...claim, ...objection }]
    })
    return refused.length === 0 && guarded.length === 0 ? noFaults : { refused, guarded }
  }

  #guardedOf(record: ServiceRecord): readonly GuardedAddress[] {
    const { guard } = this.#options
    return this.#namedIPs(record).flatMap((ip) => {
      const named = { namespace: record.namespace, kind: this.#kindOfNamed(record, ip), ip }
      const objection = guard.objectionTo(named) ?? this.#objectionOfFirst(named)
      if (objection === undefined) return []
      const isRefused = guard.refuses(objection, record.namespace)
      return [{ kind: named.kind, ip, objection, isRefused, by: guard.modeBy(record.namespace) }]
    })
  }

  /** An address that several namespaces name is for that of the Service that comes first, whatever the port. */
  #objectionOfFirst({ namespace, ip }: NamedAddress): Objection | undefined {
    const first = this.#options.guard.minds(namespace) ? this.#byNamedIP.first({ ip, key: ip }) : undefined
    if (first === undefined || this.#options.services.get(first.service)?.namespace === namespace) return undefined
    return { takenAs: 'otherNamespace', owner: first.service }
  }

  /** Nearly every Service is alone with its addresses, and that must cost next to nothing. */
  #mayBeContested(service: ObjectKey, { clusterIPs, ports, loadBalancerIPs, externalIPs }: ServiceRecord): boolean {
    const { family, apiServers } = this.#options
    const clusterIP = clusterIPs[family]
    if (clusterIP === undefined) return false
    if (loadBalancerIPs.length > 0 || externalIPs.length > 0 || this.#byClusterIP.hasOthersThan(service, clusterIP))
      return true
    if (apiServers.some(({ ip }) => ip === clusterIP)) return true
    return ports.some(
      ({ protocol, nodePort }) =>
        nodePort !== 0 &&
        (this.#byNodePort.hasOthersThan(service, nodePortKey(protocol, nodePort)) ||
          apiServers.some(({ port }) => port === nodePort)),
    )
  }

  #refusal(service: ObjectKey, claim: Claim): TakenClaim | undefined {
    if (this.#isApiServer(claim) && service !== apiServerService)
      return { ...claim, takenAs: 'apiServer', owner: apiServerService }
    const own: Rival = { service, kind: claim.kind }
    const winner = this.#rivalsOf(service, claim).reduce((best, it) => (this.#precedes(it, best) ? it : best), own)
    return winner === own ? undefined : { ...claim, takenAs: winner.kind, owner: winner.service }
  }

  #claimsOf(record: ServiceRecord): readonly Claim[] {
    const ip = record.clusterIPs[this.#options.family]
    if (ip === undefined) return []
    const named = this.#namedIPs(record)
    return [
      ...record.ports.flatMap(({ protocol, port, nodePort }): readonly Claim[] => [
        { kind: 'clusterIP', protocol, ip, port },
        ...(nodePort === 0 ? [] : [{ kind: 'nodePort' as const, protocol, port: nodePort }]),
        ...named.map((name) => ({ kind: this.#kindOfNamed(record, name), protocol, ip: name, port })),
      ]),
      ...this.#rangesOf(record).flatMap((range): readonly Claim[] => [
        { kind: 'clusterIP', ip, ...range },
        ...named.map((name) => ({ kind: this.#kindOfNamed(record, name), ip: name, ...range })),
      ]),
    ]
  }

  #rivalsOf(service: ObjectKey, claim: Claim): readonly Rival[] {
    const { kind, protocol, ip, port, lastPort } = claim
    const nodePortOwners = () =>
      this.#nodePortOwners(claim)
        .filter((other) => other !== service)
        .map(as('nodePort'))
    if (ip === undefined) return nodePortOwners()
    const clusterOwners = this.#byClusterIP.othersThan(service, ip)
    if (kind === 'clusterIP') return clusterOwners.filter((other) => this.#contests(other, claim)).map(as('clusterIP'))
    // A range is asked about seldom, and then of everybody who names the address.
    const namers = lastPort === undefined ? this.#byRangeIP.othersThan(service, ip) : this.#byNamedIP.all(ip)
    const first =
      lastPort === undefined ? this.#byNamedAddress.first({ ip, key: addressKey(ip, protocol, port) }) : undefined
    return [
      // All of a cluster IP is its Service's: the ports that the Service does not have are nobody else's.
      ...clusterOwners.map(as('clusterIP')),
      ...(this.#options.nodeIPs().includes(ip) ? nodePortOwners() : []),
      ...(first === undefined || first.service === service ? [] : [first]),
      ...namers
        .filter((other) => other !== service && this.#contests(other, claim))
        .flatMap((other) => this.#rivalAtPort(other, ip) ?? []),
    ]
  }

  /** Who gets nothing takes nothing away from others. */
  #rivalAt(service: ObjectKey, ip: string): RivalOf<NamedKind> | undefined {
    const record = this.#options.services.get(service)
    if (record === undefined) return undefined
    const { guard } = this.#options
    const rival = { service, kind: this.#kindOfNamed(record, ip) }
    const objection = guard.objectionTo({ namespace: record.namespace, kind: rival.kind, ip })
    return objection !== undefined && guard.refuses(objection, record.namespace) ? undefined : rival
  }

  /** Neither does who gets no port, because the address is for another namespace. */
  #rivalAtPort(service: ObjectKey, ip: string): RivalOf<NamedKind> | undefined {
    const rival = this.#rivalAt(service, ip)
    const namespace = this.#options.services.get(service)?.namespace
    if (rival === undefined || namespace === undefined) return undefined
    const objection = this.#objectionOfFirst({ namespace, kind: rival.kind, ip })
    return objection !== undefined && this.#options.guard.refuses(objection, namespace) ? undefined : rival
  }

  #precedes(left: Rival, right: Rival): boolean {
    const byKind = claimKinds.indexOf(left.kind) - claimKinds.indexOf(right.kind)
    if (byKind !== 0) return byKind < 0
    const [leftMs, rightMs] = [this.#createdAtMs(left), this.#createdAtMs(right)]
    return leftMs === rightMs ? left.service < right.service : leftMs < rightMs
  }

  /** One that does not say when it was made, because it comes from a file, is younger than those that do. */
  #createdAtMs({ service }: Rival): number {
    return this.#options.services.get(service)?.createdAtMs ?? Infinity
  }

  #isApiServer({ protocol, ip, ...ports }: Claim): boolean {
    const { apiServers, nodeIPs } = this.#options
    const isThere = (address: string) => (ip === undefined ? nodeIPs().includes(address) : ip === address)
    return protocol === 'TCP' && apiServers.some(({ port, ip: at }) => overlap(ports, { port }) && isThere(at))
  }

  /** Whether the Service wants such a port, or one of the range, at its addresses. */
  #contests(service: ObjectKey, wanted: Omit<Claim, 'kind'>): boolean {
    const record = this.#options.services.get(service)
    if (record === undefined) return false
    return [...record.ports, ...this.#rangesOf(record)].some(
      (own) => own.protocol === wanted.protocol && overlap(own, wanted),
    )
  }

  #nodePortOwners({ protocol, port, lastPort = port }: Omit<Claim, 'kind'>): readonly ObjectKey[] {
    const owners: ObjectKey[] = []
    for (let each = port; each <= lastPort; each++) owners.push(...this.#byNodePort.all(nodePortKey(protocol, each)))
    return owners
  }

  /** Nearly always none. */
  #rangesOf({ ports, traffic }: ServiceRecord): readonly WantedRange[] {
    const range = this.#options.portRanges ? traffic?.portRange : undefined
    if (range === undefined) return noRanges
    return ports
      .filter((port) => isCarrier(port, ports, range))
      .map(({ protocol }) => ({ protocol, port: range.first, lastPort: range.last }))
  }

  /** Each once, and not the cluster IP, which is the Service's own already. */
  #namedIPs({ clusterIPs, loadBalancerIPs, externalIPs }: ServiceRecord): readonly string[] {
    if (loadBalancerIPs.length === 0 && externalIPs.length === 0) return noNames
    const { family, allowExternalIPs } = this.#options
    const named = allowExternalIPs ? [...loadBalancerIPs, ...externalIPs] : loadBalancerIPs
    return [...new Set(named)].filter((ip) => familyOf(ip) === family && ip !== clusterIPs[family])
  }

  #kindOfNamed({ loadBalancerIPs }: ServiceRecord, ip: string): NamedKind {
    return loadBalancerIPs.includes(ip) ? 'loadBalancerIP' : 'externalIP'
  }

  /** Enters what the Service names, or takes it out, and notes whom else that concerns. */
  #index(service: ObjectKey, record: ServiceRecord, step: 'add' | 'delete', concerned: Set<ObjectKey>): void {
    const { family, nodeIPs } = this.#options
    const clusterIP = record.clusterIPs[family]
    if (clusterIP === undefined) return
    this.#byClusterIP[step](clusterIP, service)
    this.#byClusterIP.addOthersThan(service, clusterIP, concerned)
    this.#byNamedIP.addOthersThan(service, clusterIP, concerned)
    const named = this.#namedIPs(record)
    if (named.length > 0) this.#namersByNamespace[step](record.namespace, service)
    // Whose claims to its ports count depends on who comes first at an address.
    for (const ip of named)
      if (this.#byNamedIP.change({ ip, key: ip }, service, step, concerned)) this.#forgetPortsAt(ip)
    for (const { protocol, port, nodePort } of record.ports) {
      for (const ip of named) {
        this.#byNamedAddress.change({ ip, key: addressKey(ip, protocol, port) }, service, step, concerned)
        this.#addRangesAt(ip, service, { protocol, port }, concerned)
      }
      if (nodePort === 0) continue
      const key = nodePortKey(protocol, nodePort)
      this.#byNodePort[step](key, service)
      this.#byNodePort.addOthersThan(service, key, concerned)
      for (const ip of nodeIPs()) {
        this.#byNamedAddress.addOthersThan(service, addressKey(ip, protocol, nodePort), concerned)
        this.#addRangesAt(ip, service, { protocol, port: nodePort }, concerned)
      }
    }
    const ranges = this.#rangesOf(record)
    for (const ip of ranges.length === 0 ? [] : [clusterIP, ...named]) {
      this.#byRangeIP[step](ip, service)
      for (const other of [...this.#byClusterIP.all(ip), ...this.#byNamedIP.all(ip)])
        if (other !== service && ranges.some((range) => this.#contests(other, range))) concerned.add(other)
    }
  }

  /** Those whose range has the port. */
  #addRangesAt(ip: string, service: ObjectKey, port: Omit<Claim, 'kind'>, concerned: Set<ObjectKey>): void {
    for (const other of this.#byRangeIP.othersThan(service, ip)) if (this.#contests(other, port)) concerned.add(other)
  }
}

/** What a Service wants at each of its addresses. */
type WantedRange = Required<Pick<Claim, 'protocol' | 'port' | 'lastPort'>>

const noRanges: readonly WantedRange[] = []

type NamedKind = NamedAddress['kind']

type Rival = RivalOf<ClaimKind>

function as(kind: ClaimKind): (service: ObjectKey) => Rival {
  return (service) => ({ service, kind })
}

function nodePortKey(protocol: Protocol, port: number): string {
  return `${protocol} ${port}`
}

/** Tells one way to reach a Service port from another. */
export function addressKey(ip: string, protocol: Protocol, port: number): string {
  return `${ip} ${protocol} ${port}`
}

function whatClaims(record: ServiceRecord): unknown {
  const { createdAtMs, clusterIPs, ports, externalIPs, loadBalancerIPs, traffic } = record
  return { createdAtMs, clusterIPs, ports, externalIPs, loadBalancerIPs, portRange: traffic?.portRange }
}
