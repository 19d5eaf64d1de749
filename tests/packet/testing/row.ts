/** A row of the packet-flow list: who asks whom, and what must come of it. */
import type { Family } from '../../../src/net/ip.ts'
import type { ClientName, PodName } from './address-plan.ts'
import { proxyModes } from './proxy.ts'
import type { ProxyMode, ProxySettings } from './proxy.ts'
import type { PortFixture, ServiceFixture } from './service-fixture.ts'
import { webPort } from './service-fixture.ts'

/** `localhost` is the node on its loopback address, `vip` the node on the Service's own second VIP. */
export type Source = PodName | ClientName | 'node' | 'localhost' | 'vip'

export type Door =
  | 'cluster IP'
  | 'external IP'
  | 'VIP'
  | 'second VIP'
  | 'node port'
  | "node port on the node's second address"
  | 'node port on an idle device'
  | 'node port on localhost'
  /** In the ranges of the cluster, and no Service has it. */
  | 'unallocated cluster IP'

export interface Target {
  readonly service: ServiceFixture
  readonly door: Door
  /** One of the Service's, or one that it does not have. */
  readonly port: PortFixture | typeof ping
}

/** An ICMP echo request, which has no port. */
export const ping = { name: 'ping', protocol: 'ICMP', port: 0, target: 0 } as const

/** Whose address the endpoint sees. */
export type SeenAs = 'client' | 'node'

export type Expectation =
  | { readonly kind: 'reaches'; readonly each: readonly { readonly pod: PodName; readonly seenAs: SeenAs }[] }
  | { readonly kind: 'refused' | 'dropped' }
  /** No rule is for it: the packet goes where it would go without a proxy. */
  | { readonly kind: 'untouched' }

/** What some proxies cannot do. */
export type Feature =
  | 'addresses of devices without carrier'
  | 'ServiceCIDRs at once'
  | 'pod CIDRs of the Node'
  | 'annotations of Fairlead'
  | 'localhost in every mode'

export interface Row {
  readonly sentence: string
  /** In the list of `spec/iptables.md` §9; of another mode's list when it is for that mode only. */
  readonly number: number
  /** Those it is true of. */
  readonly modes: readonly ProxyMode[]
  readonly from: readonly Source[]
  readonly to: readonly Target[]
  readonly expect: Expectation
  readonly families: readonly Family[]
  readonly needs: readonly Feature[]
}

/** Rows that one proxy process serves. */
export interface Scenario {
  readonly name: string
  readonly settings: ProxySettings
  readonly services: readonly ServiceFixture[]
  readonly rows: readonly Row[]
}

export function row(
  number: number,
  sentence: string,
  flow: {
    readonly from: Source | readonly Source[]
    readonly to: Target | readonly Target[]
    readonly expect: Expectation
    readonly families?: readonly Family[]
    readonly needs?: readonly Feature[]
    /** The others do it another way, and have a row for it. */
    readonly only?: ProxyMode | readonly ProxyMode[]
  },
): Row {
  const { families = ['ipv4', 'ipv6'], needs = [], only, expect } = flow
  const modes = only === undefined ? proxyModes : [only].flat()
  return { sentence, number, modes, from: [flow.from].flat(), to: [flow.to].flat(), expect, families, needs }
}

export function reaches(pods: readonly PodName[], seenAs: SeenAs): Expectation & { kind: 'reaches' } {
  return { kind: 'reaches', each: pods.map((pod) => ({ pod, seenAs })) }
}

/** The modes that decide by rules alone: a policy may drop, and what no rule knows is not touched. */
export const byRules: readonly ProxyMode[] = ['iptables', 'nftables']

export const refused: Expectation = { kind: 'refused' }
export const dropped: Expectation = { kind: 'dropped' }
export const untouched: Expectation = { kind: 'untouched' }

export function at(door: Door, service: ServiceFixture, port: Target['port'] = service.ports[0] ?? webPort): Target {
  return { door, service, port }
}

/** The address is one of the node's own. */
export function isOnNode({ door }: Target): boolean {
  return door.startsWith('node port')
}
