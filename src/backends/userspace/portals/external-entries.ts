/** Who enters through the doors to the outside, and which endpoints each may use. */
import type { TrafficPolicy } from '../../../api/records.ts'
import type { LocalTraffic } from '../../../core/node/local-traffic.ts'
import type { Route } from '../../../core/route.ts'
import { cidrContains, parseCidr } from '../../../net/ip.ts'
import { fromLocalPods } from '../../../dataplane/iptables/language/from-local-pods.ts'
import type { Match } from '../../../dataplane/iptables/language/rule.ts'

export interface Entry {
  /** Who it is for. */
  readonly matches: readonly Match[]
  readonly policy: TrafficPolicy
}

/** In the order to ask. Without `sources`, which are CIDRs, everybody may come. */
export function externalEntries(
  { externalPolicy }: Pick<Route, 'externalPolicy'>,
  localTraffic: LocalTraffic,
  sources?: readonly string[],
): readonly Entry[] {
  const each = sources ?? [undefined]
  return each.flatMap((source) => {
    const everybody = { matches: source === undefined ? [] : [from(source)], policy: externalPolicy }
    return externalPolicy === 'Cluster' ? [everybody] : [...podEntries(localTraffic, source), everybody]
  })
}

/** Pods of this node are no traffic from outside, whichever address they use: policy Local is not for them. */
function podEntries(localTraffic: LocalTraffic, source: string | undefined): readonly Entry[] {
  const pods = fromLocalPods(localTraffic)
  if (pods === undefined) return []
  if (source === undefined) return [{ matches: [pods], policy: 'Cluster' }]
  if (pods.kind !== 'source') return [{ matches: [pods, from(source)], policy: 'Cluster' }]
  // A rule has room for one source.
  const both = overlap(pods.value, source)
  return both === undefined ? [] : [{ matches: [from(both)], policy: 'Cluster' }]
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
