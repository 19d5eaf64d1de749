/** What a Service port may have too much of, on this node, in sentences. */
import { trafficAnnotations } from '../../api/parse-traffic.ts'
import type { GrantedTraffic, Route } from '../route.ts'

export function limitRemarks({ traffic }: Pick<Route, 'traffic'>): readonly string[] {
  if (traffic === undefined) return []
  return told.flatMap(({ wish, says }) => {
    const most = traffic[wish]
    return most === undefined ? [] : [`${says(most)} (${trafficAnnotations[wish]}): more are refused, and counted`]
  })
}

type Wish = Exclude<keyof GrantedTraffic, 'algorithm' | 'maxConnectionAgeMs'>

const told: readonly { readonly wish: Wish; readonly says: (most: number) => string }[] = [
  { wish: 'maxConnections', says: (most) => `this node has at most ${most} open connections of the port` },
  {
    wish: 'maxConnectionsPerEndpoint',
    says: (most) => `this node has at most ${most} open connections of the port to each endpoint`,
  },
  { wish: 'maxDialsPerSecond', says: (most) => `this node opens at most ${most} connections of the port per second` },
  {
    wish: 'maxDialsPerSecondPerEndpoint',
    says: (most) => `this node opens at most ${most} connections of the port per second to each endpoint`,
  },
]
