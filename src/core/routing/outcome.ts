/** What happens to a packet for a Service address, once policy and health have had their say. */
import type { TrafficPolicy } from '../../api/records.ts'
import type { Endpoint, Route } from '../route.ts'

export type NonEmpty<T> = readonly [T, ...T[]]

export type Outcome =
  | { readonly kind: 'forward'; readonly to: NonEmpty<Endpoint> }
  /** Nobody can serve: say so at once. */
  | { readonly kind: 'reject' }
  /** Others can, this node may not: the gap is likely short (a rollout, a load balancer that has not noticed). A dropped SYN is sent again; a rejected one is final. */
  | { readonly kind: 'drop' }

/** Traffic to the cluster IP. */
export function internalOutcome(route: Route): Outcome {
  return outcomeUnder(route.internalPolicy, route)
}

/** Traffic from outside to a node port, external IP or load-balancer IP. */
export function externalOutcome(route: Route): Outcome {
  return outcomeUnder(route.externalPolicy, route)
}

export function outcomeUnder(policy: TrafficPolicy, route: Route): Outcome {
  const endpoints: readonly Endpoint[] = policy === 'Local' ? route.localEndpoints : route.clusterEndpoints
  if (isNonEmpty(endpoints)) return { kind: 'forward', to: endpoints }
  return { kind: route.hasUsableEndpoint ? 'drop' : 'reject' }
}

function isNonEmpty<T>(list: readonly T[]): list is NonEmpty<T> {
  return list.length > 0
}
