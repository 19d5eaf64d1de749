/** The programs at the sockets of a cgroup, with tables that a test fills by hand. */
import type { Bpf, BpfMap } from '../../../src/dataplane/ebpf/bpf.ts'
import type { ProgramImage } from '../../../src/dataplane/ebpf/program-image.ts'
import { addressBytes } from '../../../src/backends/ebpf/address-bytes.ts'
import {
  configFlags,
  decodeEndpointStats,
  decodeServiceStats,
  decodeStaleReports,
  encodeStaleSearch,
  digestSize,
  encodeConfig,
  encodeEndpoint,
  encodeFrontendKey,
  encodeFrontendTarget,
  encodeService,
  endpointWord,
  layout,
  layoutVersion,
  listBits,
  mapSpecs,
  slotWord,
} from '../../../src/backends/ebpf/layout.ts'
import type {
  ConfigRecord,
  CookiePart,
  EndpointRecord,
  Frontend,
  ListName,
  MapName,
  ServiceList,
  ServiceStats,
  StaleReport,
} from '../../../src/backends/ebpf/layout.ts'
import { familyOf } from '../../../src/net/ip.ts'
import { parsePlace } from './client-socket.ts'
import { oldHooks, programsHere } from './programs-here.ts'

/** Places of endpoints, or what happens without any. */
type Endpoints = readonly string[] | 'refuse' | 'pass'

export interface TestService {
  /** Addresses with ports, as `tcp 10.96.0.1:80`; node ports as `tcp 30080` and `tcp6 30080`. */
  readonly at?: readonly string[]
  readonly internal?: Endpoints
  /** For these the external list is used. */
  readonly externalAt?: readonly string[]
  readonly external?: Endpoints
  readonly affinitySeconds?: number
  readonly roundRobin?: boolean
}

/** Everything on, and a lease for ever. */
const usualFlags = configFlags.tcp | configFlags.udpSend | configFlags.udpConnect | configFlags.loopbackNodePorts
const always = 2n ** 64n - 1n
const halfAMinute = 30_000_000_000n

export class Hooks implements Disposable {
  readonly #bpf: Bpf
  readonly #hostNetns: bigint
  readonly #open: Disposable[] = []
  readonly #maps = new Map<string, BpfMap>()
  #iterator: Parameters<Bpf['iterate']>[0] | undefined
  #refuse = false
  #services = 0
  #endpoints = 0
  /** 0 and 1 are no base: an empty list has them. */
  #slots = 2
  #generation = 0

  private constructor(bpf: Bpf, hostNetns: bigint) {
    this.#bpf = bpf
    this.#hostNetns = hostNetns
  }

  /** The programs that this kernel takes; on demand those for old kernels. */
  static async attach(
    bpf: Bpf,
    object: Uint8Array,
    cgroup: string,
    { hostNetns, variant = '' }: { readonly hostNetns: bigint; readonly variant?: '' | '-old' },
  ): Promise<Hooks> {
    const hooks = new Hooks(bpf, hostNetns)
    for (const [name, spec] of Object.entries(mapSpecs)) hooks.#maps.set(name, hooks.#keep(await bpf.createMap(spec)))
    await hooks.configure({})
    const here = await programsHere(bpf, object)
    const load = async (image: ProgramImage) => hooks.#keep(await bpf.loadProgram(image, hooks.#maps))
    for (const image of variant === '-old' ? oldHooks(object) : here.hooks)
      hooks.#keep(await bpf.attach(await load(image), cgroup))
    if (here.iterator !== undefined) hooks.#iterator = await load(here.iterator)
    hooks.#refuse = here.refuse && variant === ''
    return hooks
  }

  /** Whether a connection is refused with a reason: since Linux 5.18. */
  get refuse(): boolean {
    return this.#refuse
  }

  /** Whether sockets whose endpoint has ended can be found: not without CONFIG_DEBUG_INFO_BTF. */
  get findStale(): boolean {
    return this.#iterator !== undefined
  }

  async configure(changes: Partial<ConfigRecord> & { readonly without?: number; readonly with?: number }) {
    const config: ConfigRecord = {
      hostNetns: this.#hostNetns,
      leaseUntil: always,
      udpIdle: halfAMinute,
      flags: (usualFlags & ~(changes.without ?? 0)) | (changes.with ?? 0),
      layout: layoutVersion,
      owner: 0n,
      nextGeneration: 0,
      digest: new Uint8Array(digestSize),
      ...changes,
    }
    await this.map('config').fill(0, encodeConfig(config))
  }

  /** The node's addresses at which there are node ports. */
  async serveNodePortsAt(...addresses: readonly string[]): Promise<void> {
    await this.map('node_addresses').update(addresses.map((ip) => [addressBytes(ip), Buffer.alloc(4)]))
  }

  async serve(service: TestService): Promise<ServedService> {
    const { internal = 'pass', external = 'pass', affinitySeconds = 0, roundRobin = false } = service
    const index = ++this.#services
    const endpoints = new Map<string, { readonly id: number; readonly record: EndpointRecord }>()
    for (const [list, places] of [
      ['internal', internal],
      ['external', external],
    ] as const) {
      for (const place of typeof places === 'string' ? [] : places) {
        const id = endpoints.get(place)?.id ?? ++this.#endpoints
        const generation = endpoints.get(place)?.record.generation ?? ++this.#generation
        const lists = (endpoints.get(place)?.record.lists ?? 0) | listBits[list]
        const record = { ...parsePlace(place), lists, generation, service: index }
        endpoints.set(place, { id, record })
        await this.map('endpoints').fill(id * layout.endpoint.size, encodeEndpoint(record))
      }
    }
    const listOf = async (places: Endpoints): Promise<ServiceList> => {
      if (typeof places === 'string') return { kind: places }
      const base = this.#slots
      for (const place of places) {
        const { id, record } = endpoints.get(place) ?? nobody(place)
        await this.map('slots').store(this.#slots++ * layout.slot.size, slotWord({ ...record, endpoint: id }))
      }
      return { kind: 'endpoints', base, count: places.length }
    }
    const lists = { internal: await listOf(internal), external: await listOf(external) }
    const record = { lists, turn: 0, affinitySeconds, roundRobin }
    await this.map('services').fill(index * layout.service.size, encodeService(record))
    for (const [list, places] of [
      ['internal', service.at],
      ['external', service.externalAt],
    ] as const)
      await this.#lead(places ?? [], index, list)
    return new ServedService(this, index, endpoints)
  }

  /** Every report of sockets whose endpoint has ended. */
  async stale(): Promise<readonly StaleReport[]> {
    const reports = await this.staleAmong({ mask: 0n, bits: 0n })
    if (reports === undefined) throw new Error('there was no room for all reports')
    return reports
  }

  /** Those with such a cookie. Undefined: there are too many. */
  async staleAmong(part: CookiePart): Promise<readonly StaleReport[] | undefined> {
    const stale = this.map('stale')
    await stale.fill(0, encodeStaleSearch(part))
    if (this.#iterator === undefined) throw new Error('the object has no iterator')
    await this.#bpf.iterate(this.#iterator, this.map('connected'))
    return decodeStaleReports(stale.bytes)
  }

  map(name: MapName): BpfMap {
    return this.#maps.get(name) ?? nobody(name)
  }

  /** For the next test. Indexes and ids are not used again. */
  async clear(): Promise<void> {
    for (const name of ['frontends', 'node_addresses'] as const) {
      const map = this.map(name)
      await map.delete((await map.entries()).map(([key]) => key))
    }
    await this.configure({})
  }

  [Symbol.dispose](): void {
    for (const part of this.#open.splice(0).reverse()) part[Symbol.dispose]()
  }

  async #lead(places: readonly string[], service: number, list: ListName): Promise<void> {
    await this.map('frontends').update(
      places.map((place) => {
        const key = encodeFrontendKey(frontendOf(place))
        return [key, encodeFrontendTarget({ service, list }, key)] as const
      }),
    )
  }

  #keep<T extends Disposable>(part: T): T {
    this.#open.push(part)
    return part
  }
}

export class ServedService {
  readonly index: number
  readonly #hooks: Hooks
  readonly #endpoints: ReadonlyMap<string, { readonly id: number; readonly record: EndpointRecord }>

  constructor(
    hooks: Hooks,
    index: number,
    endpoints: ReadonlyMap<string, { readonly id: number; readonly record: EndpointRecord }>,
  ) {
    this.#hooks = hooks
    this.index = index
    this.#endpoints = endpoints
  }

  has(place: string): boolean {
    return this.#endpoints.has(place)
  }

  /** The endpoint is in the list still, but has ended. */
  async end(place: string): Promise<void> {
    await this.#change(place, { generation: 0 })
  }

  /** The endpoint lives, but new clients may not have it. */
  async closeForNew(place: string): Promise<void> {
    await this.#change(place, { lists: 0 })
  }

  /** The list still leads to the record, but that belongs to another Service now. */
  async giveAway(place: string): Promise<void> {
    const { id, record } = this.#endpoints.get(place) ?? nobody(place)
    const given = encodeEndpoint({ ...record, service: this.index + 1 })
    await this.#hooks.map('endpoints').fill(id * layout.endpoint.size, given)
  }

  /** How often each endpoint was chosen, in the order of `places`. */
  picked(...places: readonly string[]): readonly number[] {
    return places.map((place) => this.#statsOf(place).picked)
  }

  udpConnects(place: string): number {
    return this.#statsOf(place).udpConnects
  }

  get stats(): ServiceStats {
    return decodeServiceStats(this.#hooks.map('service_stats').bytes, this.index * layout.serviceStats.size)
  }

  idOf(place: string): number {
    return (this.#endpoints.get(place) ?? nobody(place)).id
  }

  #statsOf(place: string) {
    const at = this.idOf(place) * layout.endpointStats.size
    return decodeEndpointStats(this.#hooks.map('endpoint_stats').bytes, at)
  }

  async #change(place: string, change: Partial<EndpointRecord>): Promise<void> {
    const { id, record } = this.#endpoints.get(place) ?? nobody(place)
    const word = endpointWord({ ...record, ...change })
    await this.#hooks.map('endpoints').store(id * layout.endpoint.size + layout.endpoint.port, word)
  }
}

function frontendOf(text: string): Frontend {
  const [, kind = '', six, place = ''] = /^(tcp|udp)(6?) (.+)$/.exec(text) ?? nobody(text)
  const protocol = kind === 'tcp' ? 'TCP' : 'UDP'
  if (/^\d+$/.test(place))
    return { scope: 'node-port', family: six === '6' ? 'ipv6' : 'ipv4', port: Number(place), protocol }
  const { ip, port } = parsePlace(place)
  if (familyOf(ip) === 'ipv6' && !place.startsWith('[')) nobody(place)
  return { scope: 'address', ip, port, protocol }
}

function nobody(what: string): never {
  throw new Error(`the test has no "${what}"`)
}
