/** For data planes that have one list of endpoints for all clients of an address. */
import type { Endpoint, Entrance, Route } from '../route.ts'

/**
 * What is said for clients outside counts for those inside as well. With policy Local and nothing on this node, though,
 * endpoints elsewhere serve. They see the client's own address and answer it directly, so that only pods of the cluster
 * have use of it; kube-proxy does the same.
 */
export function endpointsForAll(
  { outside }: Pick<Entrance, 'outside'>,
  { clusterEndpoints }: Pick<Route, 'clusterEndpoints'>,
): readonly Endpoint[] {
  return outside.kind === 'forward' ? outside.to : clusterEndpoints
}
