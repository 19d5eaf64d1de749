/**
 * The tables that this daemon and the programs in the kernel share: what lies where. `native/ebpf/layout.h` says the
 * same in C, with the same names, and a test compares both. Numbers are little-endian; addresses and ports are in
 * network order, as sockets have them. IPv4 addresses are stored as IPv4-mapped IPv6 ones, so that one table and one
 * program text serve both families.
 */
import type { Protocol } from '../../api/records.ts'
import type { MapSpec } from '../../dataplane/ebpf/bpf.ts'
import type { Family } from '../../net/ip.ts'
import { addressText, writeAddress } from './address-bytes.ts'
import { newMemory } from './memory.ts'
import type { Memory } from './memory.ts'

/**
 * Changes with every change of what lies where; at most 63. Of tables of another layout only the config is read: `owner` and
 * `nextGeneration` are at the same place in every layout. The memory of sockets goes on if it has the same size. What `stale` has is
 * of no layout: the process that searches writes it anew each time, and has loaded the program that answers there.
 */
export const layoutVersion = 2

/** Where each field begins. `size` is that of the whole. */
export const layout = {
  frontendKey: { address: 0, port: 16, protocol: 18, scope: 19, size: 20 },
  frontend: { service: 0, check: 4, size: 8 },
  service: { internal: 0, external: 8, affinitySeconds: 16, flags: 20, size: 32 },
  serviceStats: { connections: 0, turn: 8, refused: 16, passed: 24, retries: 28, size: 32 },
  slot: { endpoint: 0, generation: 4, size: 8 },
  endpoint: { address: 0, port: 16, lists: 18, generation: 20, service: 24, size: 32 },
  endpointStats: { picked: 0, udpConnects: 8, size: 16 },
  affinity: { endpoint: 0, generation: 4, lastUse: 8, size: 16 },
  flow: {
    serviceAddress: 0,
    endpointAddress: 16,
    servicePort: 32,
    endpointPort: 34,
    service: 36,
    endpoint: 40,
    generation: 44,
    /** Of a datagram flow. */
    lastUse: 48,
    /** Of a connected socket. */
    netns: 48,
    cookie: 56,
    size: 64,
  },
  config: {
    hostNetns: 0,
    leaseUntil: 8,
    udpIdle: 16,
    flags: 24,
    layout: 28,
    owner: 32,
    nextGeneration: 40,
    digest: 44,
    size: 64,
  },
  staleReport: {
    cookie: 0,
    netns: 8,
    endpointAddress: 16,
    serviceAddress: 32,
    endpointPort: 48,
    servicePort: 50,
    service: 52,
    size: 56,
  },
  staleSearch: { found: 0, mask: 8, bits: 16, size: 56 },
} as const

/** How many Services one socket can send datagrams to at a time without help from the packet path. */
const flowsPerSocket = 4

export const configFlags = {
  /** Only sockets of the host's namespace. */
  hostOnly: 1,
  udpSend: 2,
  udpConnect: 4,
  loopbackNodePorts: 8,
  tcp: 16,
  /** Connected UDP only for sockets of the host's namespace: those of pods could not be destroyed. */
  udpConnectHostOnly: 32,
  /** TCP sockets get no memory, so `getpeername` shows the endpoint. */
  noPeerNames: 64,
  /** TCP sockets whose endpoint has ended are reported as stale, too. */
  reportStaleTcp: 128,
} as const

export const serviceFlags = { roundRobin: 1 } as const

/** The bits of an endpoint's `lists`: who may choose it. */
export const listBits = { internal: 1, external: 2 } as const

export type ListName = keyof typeof listBits

// --- maps ---

const arrayKey = 4

/** As `DataView` wants to be told. */
const littleEndian = true

/** By the name that programs and pins have. */
export const mapSpecs = {
  frontends: shape('frontends', 'hash', layout.frontendKey.size, layout.frontend.size, 65_536),
  node_addresses: shape('node_addresses', 'hash', 16, 4, 1_024),
  services: shape('services', 'array', arrayKey, layout.service.size, 32_768),
  service_stats: shape('service_stats', 'array', arrayKey, layout.serviceStats.size, 32_768),
  slots: shape('slots', 'array', arrayKey, layout.slot.size, 262_144),
  endpoints: shape('endpoints', 'array', arrayKey, layout.endpoint.size, 131_072),
  endpoint_stats: shape('endpoint_stats', 'array', arrayKey, layout.endpointStats.size, 131_072),
  affinity: shape('affinity', 'array', arrayKey, layout.affinity.size, 32_768),
  config: shape('config', 'array', arrayKey, layout.config.size, 1),
  connected: shape('connected', 'socket-storage', arrayKey, layout.flow.size, 0),
  datagrams: shape('datagrams', 'socket-storage', arrayKey, flowsPerSocket * layout.flow.size, 0),
  stale: shape('stale', 'array', arrayKey, layout.staleReport.size, 4_097),
} as const

export type MapName = keyof typeof mapSpecs

function shape(name: string, type: MapSpec['type'], keySize: number, valueSize: number, maxEntries: number): MapSpec {
  // The kernel keeps 15 characters: with these, what is asked for equals what is found.
  return { name: `fl_${name}`.slice(0, 15), type, keySize, valueSize, maxEntries }
}

// --- frontends: what a program asks for ---

export type SocketProtocol = Exclude<Protocol, 'SCTP'>

/** An address and port, or a node port at every address of this node. */
export type Frontend =
  | { readonly scope: 'address'; readonly ip: string; readonly port: number; readonly protocol: SocketProtocol }
  | { readonly scope: 'node-port'; readonly family: Family; readonly port: number; readonly protocol: SocketProtocol }

const protocolNumbers = { TCP: 6, UDP: 17 } as const

/** Both families of a Service have the same node port number: the address of a node port says which family. */
const anyAddress = { ipv4: '0.0.0.0', ipv6: '::' } as const

/** Over zeros. */
export function encodeFrontendKey(
  frontend: Frontend,
  memory: Memory = newMemory(layout.frontendKey.size),
  at = 0,
): Buffer {
  const { address, port, protocol, scope } = layout.frontendKey
  const { numbers, bytes } = memory
  writeAddress(frontend.scope === 'address' ? frontend.ip : anyAddress[frontend.family], bytes, at + address)
  numbers.setUint16(at + port, frontend.port)
  bytes[at + protocol] = protocolNumbers[frontend.protocol]
  bytes[at + scope] = frontend.scope === 'address' ? 0 : 1
  return bytes
}

/** Undefined if it cannot be one of ours. */
export function decodeFrontendKey(bytes: Uint8Array): Frontend | undefined {
  const { address, port: portAt, protocol: protocolAt, scope, size } = layout.frontendKey
  if (bytes.length !== size) return undefined
  const key = bufferOf(bytes)
  const protocol = key[protocolAt] === 6 ? 'TCP' : key[protocolAt] === 17 ? 'UDP' : undefined
  if (protocol === undefined) return undefined
  const ip = addressText(key, address)
  const port = key.readUInt16BE(portAt)
  if (key[scope] === 0) return { scope: 'address', ip, port, protocol }
  if (key[scope] !== 1) return undefined
  if (ip === anyAddress.ipv4) return { scope: 'node-port', family: 'ipv4', port, protocol }
  return ip === anyAddress.ipv6 ? { scope: 'node-port', family: 'ipv6', port, protocol } : undefined
}

/** What a frontend leads to. */
export interface FrontendTarget {
  /** Index of the service. */
  readonly service: number
  readonly list: ListName
}

/** The key is part of it: a program that was handed another key's value, because the kernel used memory again, notices. */
export function encodeFrontendTarget(
  target: FrontendTarget,
  key: Uint8Array,
  keyAt = 0,
  memory: Memory = newMemory(layout.frontend.size),
  at = 0,
): Buffer {
  const { service, check: checkAt } = layout.frontend
  const { numbers, bytes } = memory
  numbers.setUint32(at + service, target.service + (target.list === 'external' ? externalBit : 0), littleEndian)
  numbers.setUint32(at + checkAt, check(key, keyAt), littleEndian)
  return bytes
}

/** Undefined if it does not belong to this key. */
export function decodeFrontendTarget(bytes: Uint8Array, key: Uint8Array): FrontendTarget | undefined {
  if (bytes.length !== layout.frontend.size) return undefined
  const value = bufferOf(bytes)
  if (value.readUInt32LE(layout.frontend.check) !== check(key)) return undefined
  return targetOf(value.readUInt32LE(layout.frontend.service))
}

const externalBit = 0x8000_0000
const udpBit = 0x4000_0000
const indexMask = 0x00ff_ffff

function targetOf(word: number): FrontendTarget {
  return { service: word & indexMask, list: word >= externalBit ? 'external' : 'internal' }
}

/** A number that another key hardly has. */
export function check(key: Uint8Array, from = 0): number {
  const words = bufferOf(key)
  let hash = 0x9e3779b9
  for (let at = from; at < from + layout.frontendKey.size; at += 4) {
    hash = Math.imul(hash ^ words.readInt32LE(at), 0x85ebca6b)
    hash ^= hash >>> 15
  }
  return hash >>> 0
}

// --- services: who serves ---

/** What new clients of one list of a Service get. */
export type ServiceList =
  | { readonly kind: 'endpoints'; readonly base: number; readonly count: number }
  /** TCP is refused at once; UDP is left to the packet path. */
  | { readonly kind: 'refuse' }
  /** Left to the packet path. */
  | { readonly kind: 'pass' }

/** A longer list does not fit into a list word. */
export const longestList = 65_535

/**
 * Base and count in one word, so that a program sees both from before a change or both from after it. The turn is a
 * number that changes with each write, for people who look into the table.
 */
export function listWord(list: ServiceList, turn = 0): bigint {
  return (BigInt(countHalf(list, turn)) << 32n) | BigInt(baseHalf(list))
}

function baseHalf(list: ServiceList): number {
  return list.kind === 'endpoints' ? list.base : list.kind === 'refuse' ? 1 : 0
}

function countHalf(list: ServiceList, turn: number): number {
  return (turn & 0xffff) * 0x1_0000 + (list.kind === 'endpoints' ? list.count : 0)
}

export function readListWord(word: bigint): ServiceList & { readonly turn: number } {
  const base = Number(word & 0xffff_ffffn)
  const count = Number((word >> 32n) & 0xffffn)
  const turn = Number(word >> 48n)
  if (count > 0) return { kind: 'endpoints', base, count, turn }
  return { kind: base === 1 ? 'refuse' : 'pass', turn }
}

export interface ServiceRecord {
  /** List words. */
  readonly internal: bigint
  readonly external: bigint
  /** 0: every connection is chosen anew. */
  readonly affinitySeconds: number
  readonly roundRobin: boolean
}

type ServiceOptions = Pick<ServiceRecord, 'affinitySeconds' | 'roundRobin'>

export interface NewService extends ServiceOptions {
  readonly lists: Readonly<Record<ListName, ServiceList>>
  readonly turn: number
}

/** Over zeros. In halves of words: there are thousands at a time, and big integers take ten times as long. */
export function encodeService(service: NewService, memory: Memory = newMemory(layout.service.size), at = 0): Buffer {
  const { lists, turn, affinitySeconds } = service
  const { internal, external, affinitySeconds: affinityAt, flags } = layout.service
  const { numbers, bytes } = memory
  numbers.setUint32(at + internal, baseHalf(lists.internal), littleEndian)
  numbers.setUint32(at + internal + 4, countHalf(lists.internal, turn), littleEndian)
  numbers.setUint32(at + external, baseHalf(lists.external), littleEndian)
  numbers.setUint32(at + external + 4, countHalf(lists.external, turn), littleEndian)
  numbers.setUint32(at + affinityAt, affinitySeconds, littleEndian)
  numbers.setUint32(at + flags, flagsOfService(service), littleEndian)
  return bytes
}

/** Affinity and flags, which lie side by side: to be stored at `layout.service.affinitySeconds`. */
export function serviceOptionsWord(service: ServiceOptions): bigint {
  return (BigInt(flagsOfService(service)) << 32n) | BigInt(service.affinitySeconds)
}

function flagsOfService({ roundRobin }: ServiceOptions): number {
  return roundRobin ? serviceFlags.roundRobin : 0
}

export function decodeService(bytes: Uint8Array, at = 0): ServiceRecord {
  const buffer = bufferOf(bytes)
  return {
    internal: buffer.readBigUInt64LE(at + layout.service.internal),
    external: buffer.readBigUInt64LE(at + layout.service.external),
    affinitySeconds: buffer.readUInt32LE(at + layout.service.affinitySeconds),
    roundRobin: (buffer.readUInt32LE(at + layout.service.flags) & serviceFlags.roundRobin) !== 0,
  }
}

// --- slots and endpoints ---

/** A place in a list. The generation tells whether the record is still the endpoint that was meant. */
export interface Slot {
  readonly endpoint: number
  readonly generation: number
}

export function slotWord({ endpoint, generation }: Slot): bigint {
  return (BigInt(generation) << 32n) | BigInt(endpoint)
}

export function readSlotWord(word: bigint): Slot {
  return { endpoint: Number(word & 0xffff_ffffn), generation: Number(word >> 32n) }
}

export interface EndpointRecord {
  readonly ip: string
  readonly port: number
  /** Bits of the lists whose *new* clients may choose it. */
  readonly lists: number
  /** 0: it has ended. */
  readonly generation: number
  /** Index of the service. */
  readonly service: number
}

/** Over zeros. */
export function encodeEndpoint(
  endpoint: EndpointRecord,
  memory: Memory = newMemory(layout.endpoint.size),
  at = 0,
): Buffer {
  const { numbers, bytes } = memory
  writeAddress(endpoint.ip, bytes, at + layout.endpoint.address)
  numbers.setUint16(at + layout.endpoint.port, endpoint.port)
  numbers.setUint16(at + layout.endpoint.lists, endpoint.lists, littleEndian)
  numbers.setUint32(at + layout.endpoint.generation, endpoint.generation, littleEndian)
  numbers.setUint32(at + layout.endpoint.service, endpoint.service, littleEndian)
  return bytes
}

/**
 * Port, lists and generation, which lie side by side: to be stored at `layout.endpoint.port`. With it a record that is
 * filled already begins to live, changes its lists, or ends.
 */
export function endpointWord({ port, lists: bits, generation }: Omit<EndpointRecord, 'ip' | 'service'>): bigint {
  const portInNetworkOrder = ((port & 0xff) << 8) | (port >> 8)
  return (BigInt(generation) << 32n) | BigInt(bits * 0x1_0000 + portInNetworkOrder)
}

export function decodeEndpoint(bytes: Uint8Array, at = 0): EndpointRecord {
  const buffer = bufferOf(bytes)
  return {
    ip: addressText(buffer, at + layout.endpoint.address),
    port: buffer.readUInt16BE(at + layout.endpoint.port),
    lists: buffer.readUInt16LE(at + layout.endpoint.lists),
    generation: buffer.readUInt32LE(at + layout.endpoint.generation),
    service: buffer.readUInt32LE(at + layout.endpoint.service),
  }
}

// --- what the programs count ---

export interface ServiceStats {
  readonly connections: number
  /** How often round robin moved on. */
  readonly turn: number
  readonly refused: number
  /** Left to the packet path although it is in the table. */
  readonly passed: number
  readonly retries: number
}

export function decodeServiceStats(bytes: Uint8Array, at = 0): ServiceStats {
  const buffer = bufferOf(bytes)
  const { connections, turn, refused, passed, retries } = layout.serviceStats
  return {
    connections: Number(buffer.readBigUInt64LE(at + connections)),
    turn: Number(buffer.readBigUInt64LE(at + turn)),
    refused: Number(buffer.readBigUInt64LE(at + refused)),
    passed: buffer.readUInt32LE(at + passed),
    retries: buffer.readUInt32LE(at + retries),
  }
}

export interface EndpointStats {
  /** Connections and datagram flows. */
  readonly picked: number
  /** 0: no socket can be stale when the endpoint ends. */
  readonly udpConnects: number
}

export function decodeEndpointStats(bytes: Uint8Array, at = 0): EndpointStats {
  const buffer = bufferOf(bytes)
  return {
    picked: Number(buffer.readBigUInt64LE(at + layout.endpointStats.picked)),
    udpConnects: Number(buffer.readBigUInt64LE(at + layout.endpointStats.udpConnects)),
  }
}

// --- affinity: which endpoint the host had, by service ---

export interface AffinityRecord {
  readonly endpoint: number
  readonly generation: number
  /** Nanoseconds of the monotonic clock. */
  readonly lastUse: bigint
}

export function decodeAffinity(bytes: Uint8Array, at = 0): AffinityRecord {
  const memory = bufferOf(bytes)
  return {
    endpoint: memory.readUInt32LE(at + layout.affinity.endpoint),
    generation: memory.readUInt32LE(at + layout.affinity.generation),
    lastUse: memory.readBigUInt64LE(at + layout.affinity.lastUse),
  }
}

// --- config ---

export interface ConfigRecord {
  /** Cookie of the host's network namespace. */
  readonly hostNetns: bigint
  /** Programs leave everything alone after this time; nanoseconds of the monotonic clock. */
  readonly leaseUntil: bigint
  /** A datagram flow that was silent for this many nanoseconds is chosen anew. */
  readonly udpIdle: bigint
  /** Of `configFlags`. */
  readonly flags: number
  readonly layout: number
  /** A random number of the daemon that writes the tables. */
  readonly owner: bigint
  readonly nextGeneration: number
  /** The first 20 bytes of the SHA-256 of the object. */
  readonly digest: Uint8Array
}

export const digestSize = layout.config.size - layout.config.digest

export function encodeConfig(config: ConfigRecord): Buffer {
  const bytes = Buffer.allocUnsafe(layout.config.size).fill(0)
  bytes.writeBigUInt64LE(config.hostNetns, layout.config.hostNetns)
  bytes.writeBigUInt64LE(config.leaseUntil, layout.config.leaseUntil)
  bytes.writeBigUInt64LE(config.udpIdle, layout.config.udpIdle)
  bytes.writeUInt32LE(config.flags, layout.config.flags)
  bytes.writeUInt32LE(config.layout, layout.config.layout)
  bytes.writeBigUInt64LE(config.owner, layout.config.owner)
  bytes.writeUInt32LE(config.nextGeneration, layout.config.nextGeneration)
  bytes.set(config.digest.subarray(0, digestSize), layout.config.digest)
  return bytes
}

/** Asked in each sync, where decoding all of it would be a good part of the work. */
export function decodeOwner(bytes: Uint8Array): bigint {
  return wordIn(bytes, layout.config.owner)
}

export function decodeLeaseUntil(bytes: Uint8Array): bigint {
  return wordIn(bytes, layout.config.leaseUntil)
}

function wordIn({ buffer, byteOffset }: Uint8Array, at: number): bigint {
  return new DataView(buffer, byteOffset).getBigUint64(at, littleEndian)
}

/** Of any layout: it has been so in all of them. */
export function isConfigMap({ type, valueSize, maxEntries }: MapSpec): boolean {
  return type === 'array' && maxEntries === 1 && valueSize >= layout.config.size
}

export function decodeConfig(bytes: Uint8Array): ConfigRecord {
  const buffer = bufferOf(bytes)
  return {
    hostNetns: buffer.readBigUInt64LE(layout.config.hostNetns),
    leaseUntil: decodeLeaseUntil(buffer),
    udpIdle: buffer.readBigUInt64LE(layout.config.udpIdle),
    flags: buffer.readUInt32LE(layout.config.flags),
    layout: buffer.readUInt32LE(layout.config.layout),
    owner: decodeOwner(buffer),
    nextGeneration: buffer.readUInt32LE(layout.config.nextGeneration),
    digest: new Uint8Array(buffer.subarray(layout.config.digest, layout.config.size)),
  }
}

// --- stale sockets ---

/** A connected socket whose endpoint has ended. */
export interface StaleReport {
  readonly cookie: bigint
  /** Cookie of its network namespace. */
  readonly netns: bigint
  /** Of the endpoint. */
  readonly ip: string
  readonly port: number
  /** Where its program asked for the Service. */
  readonly asked: { readonly ip: string; readonly port: number }
  /** Of the layout that the socket was connected under. */
  readonly target: FrontendTarget
  readonly layout: number
  readonly protocol: SocketProtocol
}

/** Sockets whose cookie has these bits where the mask has ones. */
export interface CookiePart {
  readonly mask: bigint
  readonly bits: bigint
}

/** Element 0: which sockets are asked for. None was found so far. */
export function encodeStaleSearch(part: CookiePart): Buffer {
  const { mask, bits, size } = layout.staleSearch
  const search = Buffer.alloc(size)
  search.writeBigUInt64LE(part.mask, mask)
  search.writeBigUInt64LE(part.bits, bits)
  return search
}

/** Undefined: more were found than there was room for. */
export function decodeStaleReports(bytes: Uint8Array): readonly StaleReport[] | undefined {
  const buffer = bufferOf(bytes)
  const { cookie, netns, endpointAddress, serviceAddress, endpointPort, servicePort, service, size } =
    layout.staleReport
  const found = Number(buffer.readBigUInt64LE(layout.staleSearch.found))
  if (found > buffer.length / size - 1) return undefined
  const reports: StaleReport[] = []
  for (let index = 1; index <= found; index++) {
    const at = index * size
    const word = buffer.readUInt32LE(at + service)
    reports.push({
      cookie: buffer.readBigUInt64LE(at + cookie),
      netns: buffer.readBigUInt64LE(at + netns),
      ip: addressText(buffer, at + endpointAddress),
      port: buffer.readUInt16BE(at + endpointPort),
      asked: { ip: addressText(buffer, at + serviceAddress), port: buffer.readUInt16BE(at + servicePort) },
      target: targetOf(word),
      layout: (word >>> 24) & 0x3f,
      protocol: (word & udpBit) !== 0 ? 'UDP' : 'TCP',
    })
  }
  return reports
}

/** The same memory. */
export function bufferOf(bytes: Uint8Array): Buffer {
  return bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
