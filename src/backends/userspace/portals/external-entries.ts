/** Who comes in from elsewhere by one entrance, and through which door. */
import type { LocalTraffic } from '../../../core/node/local-traffic.ts'
import { cidrContains, parseCidr } from '../../../net/ip.ts'
import { fromLocalPods } from '../../../dataplane/iptables/language/from-local-pods.ts'
import type { Match } from '../../../dataplane/iptables/language/rule.ts'
import { doorName } from './doors.ts'
import type { Door, Doors } from './doors.ts'

export interface Entry {
  /** Who it is for. */
  readonly matches: readonly Match[]
  readonly door: Door
}

/** In the order to ask. Without `sources`, which are CIDRs, everybody may come. */
export function externalEntries(
  { inside, outside }: Doors,
  localTraffic: LocalTraffic,
  sources?: readonly string[],
): readonly Entry[] {
  const each = sources ?? [undefined]
  return each.flatMap((source) => {
    const everybody = { matches: source === undefined ? [] : [from(source)], door: outside }
    if (doorName(inside) === doorName(outside)) return [everybody]
    return [...podMatches(localTraffic, source).map((matches) => ({ matches, door: inside })), everybody]
  })
}

/** Pods of this node, as far as they can be told and may come: one list of matches, or none. */
function podMatches(localTraffic: LocalTraffic, source: string | undefined): readonly (readonly Match[])[] {
  const pods = fromLocalPods(localTraffic)
  if (pods === undefined) return []
  if (source === undefined) return [[pods]]
  if (pods.kind !== 'source') return [[pods, from(source)]]
  // A rule has room for one source.
  const both = overlap(pods.value, source)
  return both === undefined ? [] : [[from(both)]]
}

/** Of two CIDRs one contains the other, or they have nothing in common. */
function overlap(left: string, right: string): string | undefined {
  const [a, b] = [parseCidr(left), parseCidr(right)]
  if (a === undefined || b === undefined) return undefined
  const [wide, narrow] = a.prefixLength <= b.prefixLength ? [a, b] : [b, a]
  if (!cidrContains(wide, narrow.network)) return undefined
  return narrow === a ? left : right
}

function from(value: string): Match {
  return { kind: 'source', value }
}
