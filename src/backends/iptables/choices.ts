/**
 * How one of several endpoints is chosen: one rule after the other, each of which takes its share of what those before it
 * have left. The last takes the rest.
 */
import { hash32 } from '../../core/balance/hash32.ts'
import type { Endpoint, NonEmpty, Route } from '../../core/route.ts'
import type { Match } from '../../dataplane/iptables/language/rule.ts'

export interface Choice {
  readonly endpoint: Endpoint
  /** Who is sent there, of those that come so far. */
  readonly matches: readonly Match[]
}

export function choicesOf(route: Pick<Route, 'traffic' | 'family'>, endpoints: NonEmpty<Endpoint>): readonly Choice[] {
  const [{ weight: usual }] = endpoints
  const areEqual = endpoints.every(({ weight }) => weight === usual)
  // Where all drain, the weights are equal, too.
  const weightOf = (endpoint: Endpoint) => (areEqual ? 1 : endpoint.weight)
  const matchFor = route.traffic?.algorithm === 'source-hash' ? byClient(route) : byChance
  let left = endpoints.reduce((sum, endpoint) => sum + weightOf(endpoint), 0)
  return endpoints.map((endpoint, index) => {
    const oneIn = left / weightOf(endpoint)
    left -= weightOf(endpoint)
    const match = matchFor(oneIn, endpoint)
    return { endpoint, matches: index === endpoints.length - 1 ? [] : [match] }
  })
}

/** With equal weights, the rules of kube-proxy. */
function byChance(oneIn: number): Match {
  return { kind: 'chance', oneIn }
}

/**
 * Seeds follow from the addresses of pods. So every node chooses alike, other endpoints move few clients, and a client has the
 * same pod at each port of a Service.
 */
function byClient({ family }: Pick<Route, 'family'>): (oneIn: number, endpoint: Endpoint) => Match {
  const serversByIp = new Map<string, number>()
  return (oneIn, { ip }) => {
    const server = serversByIp.get(ip) ?? 0
    serversByIp.set(ip, server + 1)
    return { kind: 'client-share', family, share: 1 / oneIn, seed: hash32(ip, server) }
  }
}
