/** The names under which objects of HNS are written down as ours. */
import type { Family } from '../../net/ip.ts'
import { familyOf } from '../../net/ip.ts'

/** `ipv4 6 10.96.0.10 53`, or `ipv6 17 any 31053`: what no two load balancers can have at once. */
export type Frontend = string & { readonly brand: 'Frontend' }

export function ownedBalancer(frontend: Frontend): string {
  return `balancer ${frontend}`
}

/** A remote one. */
export function ownedEndpoint(ip: string): string {
  return `endpoint ${ip}`
}

/** It is a local endpoint, as those of pods are; so it has a word of its own. */
export function ownedSourceVip(ip: string): string {
  return `source-vip ${ip}`
}

/** Where our endpoints are. */
export function ownedNetwork(name: string): string {
  return `network ${name}`
}

export interface OwnedNames {
  readonly frontends: readonly Frontend[]
  readonly endpointIps: readonly string[]
  readonly sourceVips: readonly string[]
  readonly networks: readonly string[]
}

/** Undefined as a family: both. */
export function ownedNames(lines: readonly string[], family?: Family): OwnedNames {
  const ofKind = (kind: string) =>
    lines.filter((line) => line.startsWith(`${kind} `)).map((line) => line.slice(kind.length + 1))
  const isOurs = (ip: string) => family === undefined || familyOf(ip) === family
  return {
    frontends: ofKind('balancer').filter((text) => family === undefined || text.startsWith(family)) as Frontend[],
    endpointIps: ofKind('endpoint').filter(isOurs),
    sourceVips: ofKind('source-vip').filter(isOurs),
    networks: ofKind('network'),
  }
}
