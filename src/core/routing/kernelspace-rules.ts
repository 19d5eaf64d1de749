/**
 * Which endpoints serve on Windows nodes, as kube-proxy's kernelspace mode has it. A Service with load-balancer IPs uses what
 * is left when nothing is ready: endpoints that terminate, or even unready ones. It does so at the cluster IP and the
 * load-balancer IPs; node port and external IPs are closed meanwhile, so that load balancers turn to other nodes. Other
 * Services use ready endpoints only. Where kube-proxy judges endpoints of other nodes by those of this one, each list is
 * judged by itself here.
 */
import type { TrafficPolicy } from '../../api/records.ts'
import type { Entrance, NonEmpty, Outcome } from '../route.ts'
import { narrow, union } from './categorize.ts'
import type { Candidate, Categorized, Place, Wants } from './categorize.ts'

export interface KernelspaceEndpoints<E extends Candidate> extends Categorized<E> {
  /** Whether more than the last resort is there, among those that each policy may use. */
  readonly isAvailable: Readonly<Record<TrafficPolicy, boolean>>
}

export function categorizeForKernelspace<E extends Candidate>(
  endpoints: readonly E[],
  wants: Wants,
  place: Place,
  hasLoadBalancerIPs: boolean,
): KernelspaceEndpoints<E> {
  const everywhere = usable(endpoints, hasLoadBalancerIPs)
  const here = usable(
    endpoints.filter(({ isLocal }) => isLocal),
    hasLoadBalancerIPs,
  )
  // Hints say where healthy traffic should go; they do not apply to the last resort.
  const { topology, near } =
    wants.clusterEndpoints && everywhere.isAvailable
      ? narrow(everywhere.endpoints, place)
      : { topology: 'none' as const, near: everywhere.endpoints }
  const cluster = wants.clusterEndpoints ? near : []
  const local = wants.localEndpoints ? here.endpoints : []
  return {
    cluster,
    local,
    reachable: local.length === 0 ? cluster : union(endpoints, cluster, local),
    hasUsable: everywhere.endpoints.length > 0 || here.endpoints.length > 0,
    topology,
    isAvailable: { Cluster: everywhere.isAvailable, Local: here.isAvailable },
  }
}

interface Usable<E> {
  readonly endpoints: readonly E[]
  readonly isAvailable: boolean
}

function usable<E extends Candidate>(endpoints: readonly E[], hasLoadBalancerIPs: boolean): Usable<E> {
  const healthy = { endpoints: endpoints.filter(({ ready, serving }) => ready && serving), isAvailable: true }
  if (!hasLoadBalancerIPs) return healthy
  const serving = endpoints.filter((endpoint) => endpoint.serving)
  if (serving.length === 0) return { endpoints, isAvailable: false }
  const areAllLeaving = endpoints.every(({ ready, terminating }) => terminating || !ready)
  return areAllLeaving ? { endpoints: serving, isAvailable: false } : healthy
}

/**
 * What differs from the treatment that the Service has at all its outside entrances: node port and external IPs are closed
 * while only the last resort is left, and a destination is preserved on this node alone.
 */
export function kernelspaceEntrances(
  [clusterIP, ...others]: NonEmpty<Entrance>,
  isAvailable: Readonly<Record<TrafficPolicy, boolean>>,
  preserved: Outcome | undefined,
): NonEmpty<Entrance> {
  const balanced = new Set(others.flatMap((it) => (it.kind === 'load-balancer-ip' ? [it.ip] : [])))
  const closed = (outcome: Outcome): Outcome =>
    outcome.kind === 'forward' && !isAvailable[outcome.policy] ? { kind: 'reject', policy: outcome.policy } : outcome
  const entrance = (it: Entrance): Entrance => {
    const outside = it.kind === 'external-ip' ? it.outside : (preserved ?? it.outside)
    // The address of a load balancer stays open, under whichever name the Service has it.
    const isBalanced = it.kind !== 'node-port' && balanced.has(it.ip)
    return isBalanced ? { ...it, outside } : { ...it, inside: closed(it.inside), outside: closed(outside) }
  }
  return [clusterIP, ...others.map(entrance)]
}
