/** What the kernel holds of ours, as far as we know: the basis for writing only what changed. */
import type { Route, RouteKey } from '../../core/route.ts'
import type { RenderedRoute } from '../../dataplane/iptables/language/rendered-rules.ts'
import { fixedChains, nodePortTail } from './fixed-chains.ts'
import type { IptablesSettings } from './settings.ts'
import type { Table } from '../../dataplane/iptables/language/kube-chains.ts'

export interface WrittenRoute {
  readonly route: Route
  readonly rendered: RenderedRoute
}

export class Written {
  readonly settings: IptablesSettings
  readonly #routesByKey = new Map<RouteKey, WrittenRoute>()
  /** Rules by table, of routes only. */
  readonly #rules = { filter: 0, nat: 0 }
  #endpoints = 0

  constructor(settings: IptablesSettings) {
    this.settings = settings
  }

  /** The same routes under other settings: an address of the node came or went. */
  withSettings(settings: IptablesSettings): Written {
    const written = new Written(settings)
    for (const [key, route] of this.#routesByKey) written.set(key, route)
    return written
  }

  get endpoints(): number {
    return this.#endpoints
  }

  /** Rules of ours in the table, those that no Service asked for included. */
  ruleCount(table: Table): number {
    const tail = table === 'nat' ? nodePortTail(this.settings).length : 0
    const fixed = fixedChains(this.settings).filter((entry) => entry.table === table)
    return this.#rules[table] + tail + fixed.reduce((sum, { chain }) => sum + chain.rules.length, 0)
  }

  get routesByKey(): ReadonlyMap<RouteKey, WrittenRoute> {
    return this.#routesByKey
  }

  get(key: RouteKey): WrittenRoute | undefined {
    return this.#routesByKey.get(key)
  }

  /** Undefined: the route is gone. */
  set(key: RouteKey, route: WrittenRoute | undefined): void {
    this.#count(this.#routesByKey.get(key), -1)
    this.#count(route, 1)
    if (route === undefined) this.#routesByKey.delete(key)
    else this.#routesByKey.set(key, route)
  }

  #count(written: WrittenRoute | undefined, step: 1 | -1): void {
    if (written === undefined) return
    const { route, rendered } = written
    this.#endpoints += step * route.endpoints.length
    for (const { table } of rendered.shared) this.#rules[table] += step
    let own = 0
    for (const { ruleCount } of rendered.chains) own += ruleCount
    this.#rules.nat += step * own
  }
}
