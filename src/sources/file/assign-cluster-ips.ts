/** Cluster IPs for Services whose manifest has none, which an API server would allocate. */
import { createHash } from 'node:crypto'
import { isAbsent } from '../../api/defaulting/absent.ts'
import { isJsonObject } from '../../api/json-reader.ts'
import type { JsonObject } from '../../api/json-reader.ts'
import { ipFromBigInt, ipToBigInt, parseCidr, parseIp } from '../../net/ip.ts'
import type { Cidr, Family } from '../../net/ip.ts'
import { keyOfObject } from './object-key.ts'

/** For manifests without a ServiceCIDR: the ranges of the embedded API server and of many clusters. */
const defaultCidrs = ['10.96.0.0/16', 'fd00:10:96::/112']
/** As in an API server, the low end is for Services that choose their own address. */
const reserved = 256n
/** More than any cluster has Services. */
const mostAddresses = 1n << 24n

export interface AssignedServices {
  readonly services: readonly JsonObject[]
  /** The new addresses by `namespace/name`; empty where the range is used up. */
  readonly assigned: ReadonlyMap<string, readonly string[]>
}

/**
 * An address depends on the Service's name and range alone, not on the order of files or on earlier runs. Only where
 * two names lead to the same address does the later name take the next one.
 */
export function assignClusterIPs(
  services: readonly JsonObject[],
  serviceCidrs: readonly JsonObject[],
): AssignedServices {
  const ranges = rangesOf(serviceCidrs)
  const used = new Set(services.flatMap(explicitIPs))
  const inOrder = services
    .filter(needsAddress)
    .toSorted((left, right) => (keyOfObject(left) < keyOfObject(right) ? -1 : 1))
  const assigned = new Map<string, readonly string[]>()
  for (const service of inOrder) {
    const ips = wantedFamilies(service).flatMap(
      (family) => freeAddress(keyOfObject(service), ranges[family], used) ?? [],
    )
    for (const ip of ips) used.add(ip)
    assigned.set(keyOfObject(service), ips)
  }
  return {
    services: services.map((service) => withAddresses(service, assigned.get(keyOfObject(service)) ?? [])),
    assigned,
  }
}

function withAddresses(service: JsonObject, ips: readonly string[]): JsonObject {
  return ips.length === 0 || !needsAddress(service)
    ? service
    : { ...service, spec: { ...specOf(service), clusterIP: ips[0], clusterIPs: ips } }
}

function needsAddress(service: JsonObject): boolean {
  const { type, clusterIP, clusterIPs } = specOf(service)
  const hasList = Array.isArray(clusterIPs) && clusterIPs.length > 0
  return type !== 'ExternalName' && isAbsent(clusterIP) && !hasList
}

function wantedFamilies(service: JsonObject): readonly Family[] {
  const { ipFamilies, ipFamilyPolicy } = specOf(service)
  const named = Array.isArray(ipFamilies)
    ? ipFamilies.flatMap((name): Family[] => (name === 'IPv4' ? ['ipv4'] : name === 'IPv6' ? ['ipv6'] : []))
    : []
  if (named.length > 0) return named
  return ipFamilyPolicy === 'RequireDualStack' || ipFamilyPolicy === 'PreferDualStack' ? ['ipv4', 'ipv6'] : ['ipv4']
}

function freeAddress(
  key: string,
  { family, network, prefixLength }: Cidr,
  used: ReadonlySet<string>,
): string | undefined {
  const bits = family === 'ipv4' ? 32 : 128
  const all = 1n << BigInt(bits - prefixLength)
  const first = all > 2n * reserved ? reserved : 1n
  // Without the last one, which is the broadcast address of an IPv4 range.
  const count = all - first - 1n > mostAddresses ? mostAddresses : all - first - 1n
  if (count <= 0n) return undefined
  const start = createHash('sha256').update(`${family} ${key}`).digest().readBigUInt64BE() % count
  for (let tried = 0n; tried < count; tried++) {
    const ip = ipFromBigInt(ipToBigInt(network) + first + ((start + tried) % count), family)
    if (!used.has(ip)) return ip
  }
  return undefined
}

function rangesOf(serviceCidrs: readonly JsonObject[]): Readonly<Record<Family, Cidr>> {
  const given = serviceCidrs.flatMap((object) => {
    const { cidrs } = specOf(object)
    return Array.isArray(cidrs) ? cidrs : []
  })
  const parsed = [...given, ...defaultCidrs].flatMap((text) =>
    typeof text === 'string' ? (parseCidr(text) ?? []) : [],
  )
  const ofFamily = (family: Family) => parsed.find((cidr) => cidr.family === family) as Cidr
  return { ipv4: ofFamily('ipv4'), ipv6: ofFamily('ipv6') }
}

function explicitIPs(service: JsonObject): string[] {
  const { clusterIP, clusterIPs } = specOf(service)
  const texts: readonly unknown[] = [clusterIP, ...(Array.isArray(clusterIPs) ? clusterIPs : [])]
  return texts.flatMap((text) => (typeof text === 'string' ? (parseIp(text) ?? []) : []))
}

function specOf(object: JsonObject): JsonObject {
  return isJsonObject(object['spec']) ? object['spec'] : {}
}
