/** What happens to a packet for a Service address, once policy and health have had their say. */
import type { TrafficPolicy } from '../../api/records.ts'
import type { Endpoint, NonEmpty, Outcome, Route } from '../route.ts'

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
  if (isNonEmpty(endpoints)) return { kind: 'forward', policy, to: endpoints }
  return { kind: route.hasUsableEndpoint ? 'drop' : 'reject', policy }
}

function isNonEmpty<T>(list: readonly T[]): list is NonEmpty<T> {
  return list.length > 0
}
