/**
 * An HNS that exists only in memory. It refuses what the real one refuses, with the same codes, as far as anybody could
 * see (winkernel in Kubernetes, Microsoft's documentation, reports of users); see `HnsOptions` for what is not sure.
 */
import { cidrContains, parseCidr, parseIp } from '../../../net/ip.ts'
import type { ObjectKind } from '../driver.ts'
import { compareVersions } from '../features.ts'
import type { HnsVersion, LoadBalancerSettings, RemoteSubnet } from '../hcn.ts'
import { hresult } from '../hresult.ts'
import { contentOf, frontendOf } from '../load-balancer-content.ts'
import type { StoredEndpoint, StoredLoadBalancer, StoredNetwork } from './hns-objects.ts'
import { IndexedObjects } from './indexed-objects.ts'
import { profiles } from './hns-options.ts'
import type { HnsOptions } from './hns-options.ts'
import { readEndpoint, readLoadBalancer } from './read-settings.ts'
import { HnsRefusal } from './refusal.ts'

const codesByKind: Readonly<Record<ObjectKind, number>> = {
  Network: hresult.networkNotFound,
  Endpoint: hresult.endpointNotFound,
  LoadBalancer: hresult.elementNotFound,
}

export class MemoryHns {
  readonly version: HnsVersion
  readonly options: HnsOptions
  readonly #profile
  readonly #networks = new IndexedObjects<StoredNetwork>(() => [])
  readonly #endpoints = new IndexedObjects<StoredEndpoint>(({ networkId, ips }) => [
    `in ${networkId}`,
    ...ips.map((ip) => `${parseIp(ip) ?? ip} in ${networkId}`),
  ])
  readonly #balancers = new IndexedObjects<StoredLoadBalancer>((balancer) => [
    ...(balancer.isHalf ? [] : [frontendOf(balancer)]),
    ...balancer.endpoints.map((id) => `to ${id}`),
  ])
  readonly #takenFrontends = new Set<string>()
  #made = 0
  /** Calls that still fail while it restarts. */
  #silentCalls = 0

  constructor(options: HnsOptions = {}) {
    this.options = options
    this.#profile = profiles[options.profile ?? '2022']
    this.version = options.version ?? this.#profile.version
  }

  get networks(): readonly StoredNetwork[] {
    return this.#networks.all
  }

  get endpoints(): readonly StoredEndpoint[] {
    return this.#endpoints.all
  }

  get loadBalancers(): readonly StoredLoadBalancer[] {
    return this.#balancers.all
  }

  network(id: string): StoredNetwork {
    return this.#networks.get(id) ?? this.#unknown('Network')
  }

  endpoint(id: string): StoredEndpoint {
    return this.#endpoints.get(id) ?? this.#unknown('Endpoint')
  }

  loadBalancer(id: string): StoredLoadBalancer {
    return this.#balancers.get(id) ?? this.#unknown('LoadBalancer')
  }

  // What clients ask for.

  createEndpoint(networkId: string, settings: string): StoredEndpoint {
    const network = this.#networks.get(networkId)
    if (network === undefined) throw new HnsRefusal(hresult.networkNotFound)
    const wanted = readEndpoint(settings, this.#newId())
    for (const ip of wanted.ips) this.#checkAddress(ip, wanted.isRemote, network)
    return this.#endpoints.put({ ...wanted, networkId: network.id, name: wanted.isRemote ? 'Ethernet' : wanted.name })
  }

  deleteEndpoint(id: string): void {
    const endpoint = this.endpoint(id)
    const users = this.#balancers.with(`to ${endpoint.id}`)
    if (users.length > 0 && this.options.endpointInUse !== 'degrades its load balancers')
      throw new HnsRefusal(hresult.hasReferences)
    for (const user of users) this.#balancers.put({ ...user, isDegraded: true })
    this.#endpoints.delete(endpoint.id)
  }

  createLoadBalancer(settings: string): StoredLoadBalancer {
    try {
      const wanted = readLoadBalancer(settings, this.#newId())
      this.#checkLoadBalancer(wanted, undefined)
      return this.#balancers.put({ ...wanted, isDegraded: false, isHalf: false, canBeDeleted: true })
    } catch (error) {
      if (this.options.refusedLoadBalancer === 'leaves a half') this.putHalfLoadBalancer()
      throw error
    }
  }

  modifyLoadBalancer(id: string, settings: string): StoredLoadBalancer {
    if (compareVersions(this.version, { major: 15, minor: 4 }) < 0) throw new HnsRefusal(hresult.notImplemented)
    const present = this.loadBalancer(id)
    const wanted = readLoadBalancer(settings, present.id)
    this.#checkLoadBalancer(wanted, present.id)
    // The first release of Server 2025 says yes, and changes nothing: kubernetes#131466.
    if (compareVersions(this.version, { major: 15, minor: 5 }) < 0) return present
    const { isSticky, mappingFlags, flags } = present
    const kept = this.options.changeInPlace === 'endpoints and ports' ? { isSticky, mappingFlags, flags } : {}
    return this.#balancers.put({ ...present, ...wanted, ...kept, isDegraded: false, isHalf: false })
  }

  deleteLoadBalancer(id: string): void {
    const balancer = this.loadBalancer(id)
    if (!balancer.canBeDeleted) throw new HnsRefusal(hresult.hasReferences)
    this.#balancers.delete(balancer.id)
    if (this.options.deletedPort === 'stays taken') this.#takenFrontends.add(frontendOf(balancer))
  }

  // What others do: the CNI, an administrator, HNS itself. These are not refused.

  putNetwork(network: {
    readonly name: string
    readonly type?: string
    readonly id?: string
    readonly subnets?: readonly string[]
    readonly gateways?: readonly string[]
    readonly remoteSubnets?: readonly RemoteSubnet[]
  }): string {
    const id = network.id?.toLowerCase() ?? this.#newId()
    const defaults = { type: 'L2Bridge', subnets: [], gateways: [], remoteSubnets: [] }
    this.#networks.put({ ...defaults, ...network, id })
    return id
  }

  /** An endpoint as the CNI makes it for a pod of this node: local, with one address or with two. */
  putEndpoint(
    networkId: string,
    endpoint: {
      readonly ips: readonly string[]
      readonly id?: string
      readonly name?: string
      readonly mac?: string
      readonly isRemote?: boolean
      readonly providerAddress?: string | undefined
    },
  ): string {
    const id = endpoint.id?.toLowerCase() ?? this.#newId()
    const defaults = { name: '', mac: '00-15-5D-00-00-01', isRemote: false, providerAddress: undefined }
    this.#endpoints.put({ ...defaults, ...endpoint, id, networkId: networkId.toLowerCase() })
    return id
  }

  putLoadBalancer(settings: LoadBalancerSettings): string {
    return this.#balancers.put({
      ...settings,
      id: this.#newId(),
      isDegraded: false,
      isHalf: false,
      canBeDeleted: true,
    }).id
  }

  /** What a create that failed may leave: no port mapping, and nothing else either. */
  putHalfLoadBalancer(): string {
    const nothing = { endpoints: [], sourceVip: undefined, vip: undefined, protocol: 0, internalPort: 0 }
    const id = this.putLoadBalancer({ ...nothing, externalPort: 0, isSticky: false, mappingFlags: 0, flags: 0 })
    return this.#balancers.put({ ...this.loadBalancer(id), isHalf: true }).id
  }

  changeLoadBalancer(id: string, change: Partial<Omit<StoredLoadBalancer, 'id'>>): void {
    this.#balancers.put({ ...this.loadBalancer(id), ...change })
  }

  changeNetwork(id: string, change: Partial<Omit<StoredNetwork, 'id'>>): void {
    const network = this.network(id)
    this.#networks.put({ ...network, ...change })
  }

  /** Takes it away from under whoever uses it. */
  remove(kind: 'Endpoint' | 'LoadBalancer', id: string): void {
    if (kind === 'Endpoint') this.#endpoints.delete(id)
    else this.#balancers.delete(id)
  }

  /** Its endpoints go with it, and their load balancers lead nowhere. */
  removeNetwork(id: string): void {
    const network = this.network(id)
    const canBeDeleted = this.options.orphanedLoadBalancers !== 'cannot be deleted'
    this.#networks.delete(network.id)
    for (const { id: gone } of this.#endpoints.with(`in ${network.id}`)) {
      this.#endpoints.delete(gone)
      for (const user of this.#balancers.with(`to ${gone}`))
        this.#balancers.put({ ...user, isDegraded: true, canBeDeleted })
    }
  }

  /** From now on every call fails, or so many; see `start`. */
  stop(calls = Number.POSITIVE_INFINITY): void {
    this.#silentCalls = calls
  }

  /** Works again, with all objects. Those of the kinds in `renewed` have other ids than before. */
  start(renewed: readonly ObjectKind[] = []): void {
    this.#silentCalls = 0
    this.#takenFrontends.clear()
    const { networks, endpoints, loadBalancers } = this
    const newIds = new Map<string, string>()
    const renew = (kind: ObjectKind, objects: readonly { readonly id: string }[]) => {
      if (renewed.includes(kind)) for (const { id } of objects) newIds.set(id, this.#newId())
    }
    renew('Network', networks)
    renew('Endpoint', endpoints)
    renew('LoadBalancer', loadBalancers)
    const now = (id: string) => newIds.get(id) ?? id
    this.#networks.replaceAll(networks.map((it) => ({ ...it, id: now(it.id) })))
    this.#endpoints.replaceAll(endpoints.map((it) => ({ ...it, id: now(it.id), networkId: now(it.networkId) })))
    this.#balancers.replaceAll(
      loadBalancers.map((it) => ({ ...it, id: now(it.id), endpoints: it.endpoints.map(now), canBeDeleted: true })),
    )
  }

  /** Whether the next call finds it working. */
  answers(): boolean {
    if (this.#silentCalls === 0) return true
    this.#silentCalls--
    if (this.#silentCalls === 0) this.start()
    return false
  }

  #checkAddress(ip: string, isRemote: boolean, network: StoredNetwork): void {
    const subnets = network.subnets.map((text) => parseCidr(text))
    const isInside = subnets.length === 0 || subnets.some((subnet) => subnet !== undefined && cidrContains(subnet, ip))
    if (!isRemote && !isInside) throw new HnsRefusal(hresult.addressOutsideSubnets)
    if (!isRemote && network.gateways.includes(ip)) throw new HnsRefusal(hresult.addressReserved)
    const rivals = this.#endpoints.with(`${ip} in ${network.id}`)
    const isTaken = rivals.some((rival) => rival.isRemote === isRemote || !this.#profile.allowsLocalBesideRemote)
    if (isTaken) throw new HnsRefusal(hresult.addressReserved)
  }

  #checkLoadBalancer(wanted: LoadBalancerSettings, ownId: string | undefined): void {
    for (const id of wanted.endpoints)
      if (this.#endpoints.get(id) === undefined) throw new HnsRefusal(hresult.elementNotFound)
    const frontend = frontendOf(wanted)
    for (const other of this.#balancers.with(frontend)) {
      if (other.id === ownId) continue
      throw new HnsRefusal(contentOf(other) === contentOf(wanted) ? hresult.alreadyExists : hresult.portAlreadyExists)
    }
    if (this.#takenFrontends.has(frontend) || this.#isHostPort(wanted)) throw new HnsRefusal(hresult.portAlreadyExists)
  }

  #isHostPort({ vip, protocol, externalPort }: LoadBalancerSettings): boolean {
    const { hostPorts = [], hostIps = [] } = this.options
    if (!this.#profile.refusesHostPorts || (vip !== undefined && !hostIps.includes(vip))) return false
    return hostPorts.some((it) => it.protocol === protocol && it.port === externalPort)
  }

  #unknown(kind: ObjectKind): never {
    throw new HnsRefusal(this.options.unknownId === 'kind not found' ? codesByKind[kind] : hresult.elementNotFound)
  }

  /** A GUID of version 4 that a reader can follow through a test. */
  #newId(): string {
    this.#made++
    return `${this.#made.toString(16).padStart(8, '0')}-face-4fab-8bad-c0ffeec0ffee`
  }
}
