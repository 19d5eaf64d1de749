/**
 * How many connections each route and each endpoint got, and how many were turned away, from the counters of their
 * rules. The nat table sees the first packet of a connection only. A rule that is written anew begins at zero; so what
 * it has counted is read before.
 */
import type { NodeView } from '../../core/backend.ts'
import { KeptTraffic } from '../../core/kept-traffic.ts'
import type { RouteKey } from '../../core/route.ts'
import { addTraffic } from '../../core/traffic.ts'
import type { RouteTraffic } from '../../core/traffic.ts'
import type { CountedRule, Iptables } from '../../dataplane/iptables/iptables.ts'
import { topChains } from '../../dataplane/iptables/language/kube-chains.ts'
import { serviceChainNames } from './chain-names.ts'
import type { IptablesPlan } from './plan.ts'
import type { TouchedCounters } from './touched-counters.ts'

type Counted = Map<RouteKey, RouteTraffic>

/** It outlives the plans: nobody may see a counter go back because a sync failed. */
export class TrafficCounts {
  readonly #iptables: Iptables
  readonly #kept = new KeptTraffic()

  constructor(iptables: Iptables) {
    this.#iptables = iptables
  }

  read({ routesByKey }: IptablesPlan, signal: AbortSignal): Promise<ReadonlyMap<RouteKey, RouteTraffic>> {
    return this.#kept.withNow(async () => {
      const counted: Counted = new Map()
      for (const key of routesByKey.keys()) counted.set(key, nothing)
      const attribution = new Attribution(routesByKey)
      await this.#iptables.readCounters((rule) => attribution.add(rule, counted), signal)
      return counted
    })
  }

  /** What the rules have counted that are about to be written anew. Undefined: all of them. */
  async countsToKeep(
    { routesByKey }: IptablesPlan,
    touched: TouchedCounters | undefined,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<RouteKey, RouteTraffic>> {
    const counted: Counted = new Map()
    if (touched?.size === 0) return counted
    const attribution = new Attribution(routesByKey)
    const add = (rule: CountedRule) => {
      const keys = touched?.get(`${rule.table}/${rule.chain}`)
      if (touched === undefined || keys === 'all' || keys?.has(attribution.ownerOf(rule) ?? nobody) === true)
        attribution.add(rule, counted)
    }
    await this.#iptables.readCounters(add, signal, touched && [...touched.keys()])
    return counted
  }

  /** Once the rules are gone. */
  keep(counted: ReadonlyMap<RouteKey, RouteTraffic>): void {
    this.#kept.keep(counted)
  }

  /** What is gone from the routes that were synced. */
  forget(keys: readonly RouteKey[], view: NodeView): void {
    this.#kept.forget(keys, view)
  }
}

const nothing: RouteTraffic = { connections: 0, turnedAway: { 'no-endpoint': 0 } }
const nobody = '' as RouteKey

interface Found {
  readonly key: RouteKey
  readonly traffic: RouteTraffic
}

type ChainOf = { readonly key: RouteKey } & (
  | { readonly kind: 'entrance' }
  | { readonly kind: 'firewall' }
  | { readonly kind: 'endpoint'; readonly address: string }
)

/** Whose a rule is: by the chain it jumps to, the chain it is in, or the name in its comment. */
class Attribution {
  readonly #chains = new Map<string, ChainOf>()
  readonly #routes: { has(key: RouteKey): boolean }

  constructor(routes: Pick<IptablesPlan['routesByKey'], 'entries' | 'has'>) {
    this.#routes = routes
    for (const [key, { route }] of routes.entries()) {
      const names = serviceChainNames(route)
      for (const chain of [names.cluster, names.local, names.external])
        this.#chains.set(chain, { key, kind: 'entrance' })
      this.#chains.set(names.firewall, { key, kind: 'firewall' })
      for (const endpoint of route.reachableEndpoints)
        this.#chains.set(names.endpoint(endpoint), { key, kind: 'endpoint', address: endpoint.address })
    }
  }

  ownerOf(rule: CountedRule): RouteKey | undefined {
    return this.#find(rule)?.key
  }

  add(rule: CountedRule, counted: Counted): void {
    const found = this.#find(rule)
    if (found !== undefined) counted.set(found.key, addTraffic(counted.get(found.key), found.traffic))
  }

  #find(rule: CountedRule): Found | undefined {
    return rule.table === 'filter' ? this.#turnedAway(rule) : this.#connections(rule)
  }

  #connections({ table, chain, rule, packets }: CountedRule): Found | undefined {
    if (table !== 'nat') return undefined
    const of = this.#chains.get(chain)
    if (of?.kind === 'endpoint') {
      if (targetOf(rule) !== 'DNAT') return undefined
      return { key: of.key, traffic: { endpoints: new Map([[of.address, { connections: packets }]]) } }
    }
    // Who passed the firewall, and who needs not.
    if (of?.kind !== 'firewall' && chain !== topChains.services && chain !== topChains.nodePorts) return undefined
    const target = this.#chains.get(targetOf(rule))
    return target?.kind === 'entrance' ? { key: target.key, traffic: { connections: packets } } : undefined
  }

  #turnedAway({ chain, rule, packets }: CountedRule): Found | undefined {
    const reason = reasonsByChain.get(chain)
    if (reason === undefined) return undefined
    const name = /--comment "(\S+) (?:has no|traffic not accepted)/.exec(rule)?.[1]
    const protocol = /(?:^| )-p (\S+)/.exec(rule)?.[1]?.toUpperCase()
    const key = `${name}/${protocol}` as RouteKey
    return this.#routes.has(key) ? { key, traffic: { turnedAway: { [reason]: packets } } } : undefined
  }
}

const reasonsByChain: ReadonlyMap<string, string> = new Map([
  [topChains.services, 'no-endpoint'],
  [topChains.externalServices, 'no-endpoint'],
  [topChains.proxyFirewall, 'source-not-allowed'],
])

function targetOf(rule: string): string {
  return / -j (\S+)/.exec(` ${rule.slice(rule.lastIndexOf('"') + 1)}`)?.[1] ?? ''
}
