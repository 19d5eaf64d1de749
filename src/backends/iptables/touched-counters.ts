/** The rules that count, and that a change writes anew. */
import type { RouteKey } from '../../core/route.ts'
import type { ChainPath } from '../../dataplane/iptables/iptables.ts'
import type { RenderedRoute } from '../../dataplane/iptables/language/rendered-rules.ts'
import type { IptablesPlan } from './plan.ts'

/** By chain, whose rules are concerned. */
export type TouchedCounters = ReadonlyMap<ChainPath, 'all' | ReadonlySet<RouteKey>>

/**
 * Only those of routes that stay: what a route that goes has counted goes with it, and so does what was counted for an
 * endpoint. A change of endpoints touches none of the rules that stay, so most changes touch nothing here.
 */
export function touchedCounters(before: IptablesPlan, after: IptablesPlan, keys: Iterable<RouteKey>): TouchedCounters {
  const touched = new Map<ChainPath, Set<RouteKey>>()
  for (const key of keys) {
    const [old, now] = [before.routesByKey.get(key)?.rendered, after.routesByKey.get(key)?.rendered]
    if (old === undefined || now === undefined) continue
    for (const path of touchedBetween(old, now)) {
      const owners = touched.get(path) ?? new Set<RouteKey>()
      touched.set(path, owners.add(key))
    }
  }
  return touched
}

function touchedBetween(old: RenderedRoute, now: RenderedRoute): ReadonlySet<ChainPath> {
  const touched = new Set<ChainPath>()
  const rulesNow = rulesByPlace(now)
  for (const [path, rules] of rulesByPlace(old)) if (rulesNow.get(path) !== rules) touched.add(path)
  const linesNow = new Map(now.chains.map(({ name, lines }) => [name, lines]))
  for (const { name, lines } of old.chains) {
    const counts = name.startsWith('KUBE-FW-') || (name.startsWith('KUBE-SEP-') && linesNow.has(name))
    if (counts && linesNow.get(name) !== lines) touched.add(`nat/${name}`)
  }
  return touched
}

/** The rules of a route in one chain are exchanged together. */
function rulesByPlace({ shared }: RenderedRoute): ReadonlyMap<ChainPath, string> {
  const places = new Map<ChainPath, string>()
  for (const { table, chain, rule } of shared) {
    const path: ChainPath = `${table}/${chain}`
    places.set(path, `${places.get(path) ?? ''}${rule}\n`)
  }
  return places
}
