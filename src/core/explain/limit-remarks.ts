/** What a Service port may have too much of, on this node, in sentences. */
import { trafficAnnotations } from '../../api/parse-traffic.ts'
import type { GrantedTraffic, Route } from '../route.ts'
import type { Source } from './explanation.ts'
import type { ModeTraits } from './mode-traits.ts'

export function limitRemarks(
  { traffic, protocol }: Route,
  client: Pick<Source, 'place'>,
  { source }: ModeTraits,
): readonly string[] {
  if (traffic === undefined) return []
  const more =
    source === 'the relay' && protocol === 'TCP'
      ? 'more wait for up to 5 s, and are refused then; both are counted'
      : 'more are refused, and counted'
  const limits = told.flatMap(({ wish, says }) => {
    const most = traffic[wish]
    return most === undefined ? [] : [`${says(most)} (${trafficAnnotations[wish]}): ${more}`]
  })
  return [...limits, ...ageRemarks(traffic, client, source)]
}

function ageRemarks(
  { maxConnectionAgeMs: ageMs }: GrantedTraffic,
  { place }: Pick<Source, 'place'>,
  source: ModeTraits['source'],
): readonly string[] {
  if (ageMs === undefined) return []
  const annotation = trafficAnnotations.maxConnectionAgeMs
  const age = `${ageMs / 1000} s`
  if (source === 'the relay')
    return [`a connection of ${age} ends in the next quiet moment, and at twice that age at the latest (${annotation})`]
  return place === 'this node' || place === 'pod on this node'
    ? [`the socket of the client is destroyed when the connection is about ${age} old (${annotation})`]
    : [`${annotation} is for clients on this node: nobody ends the connections of others`]
}

type Wish = Exclude<keyof GrantedTraffic, 'algorithm' | 'ipvsScheduler' | 'slowStartMs' | 'maxConnectionAgeMs'>

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
