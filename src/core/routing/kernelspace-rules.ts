/**
 * Which endpoints serve on Windows nodes, as kube-proxy's kernelspace mode has it. A Service with load-balancer IPs uses what
 * is left when nothing is ready: endpoints that terminate, or even unready ones. It does so at the cluster IP and the
 * load-balancer IPs; node port and external IPs are closed meanwhile, so that load balancers turn to other nodes. Other
 * Services use ready endpoints only. Where kube-proxy judges endpoints of other nodes by those of this one, each list is
 * judged by itself here.
 */
import type { TrafficPolicy } from '../../api/records.ts'
import type { Entrance, NonEmpty, Outcome } from '../route.ts'
import { choiceBy, chosen, rankOfNobody, union } from './categorize.ts'
import type { Candidate, Categorized, Choice, Place, Standard, Wants } from './categorize.ts'

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
  const choices = {
    Cluster: kernelspaceChoice(endpoints, 'Cluster', place, hasLoadBalancerIPs),
    Local: kernelspaceChoice(endpoints, 'Local', place, hasLoadBalancerIPs),
  }
  const [everywhere, here] = [chosen(endpoints, choices.Cluster, place), chosen(endpoints, choices.Local, place)]
  const cluster = wants.clusterEndpoints ? everywhere : []
  const local = wants.localEndpoints ? here : []
  return {
    cluster,
    local,
    reachable: local.length === 0 ? cluster : union(endpoints, cluster, local),
    hasUsable: everywhere.length > 0 || here.length > 0,
    topology: wants.clusterEndpoints ? choices.Cluster.topology : 'none',
    isAvailable: { Cluster: isHealthy(choices.Cluster), Local: isHealthy(choices.Local) },
  }
}

/** By what the endpoints are judged that a policy uses. */
export function kernelspaceChoice(
  endpoints: readonly Candidate[],
  policy: TrafficPolicy,
  place: Place,
  hasLoadBalancerIPs: boolean,
): Choice {
  const candidates = policy === 'Local' ? endpoints.filter(({ isLocal }) => isLocal) : endpoints
  const standard = standardFor(candidates, hasLoadBalancerIPs)
  return choiceBy(standard, endpoints, policy, place) ?? { standard, policy, rank: rankOfNobody, topology: 'none' }
}

const healthy: Standard = 'ready and serving'

function isHealthy({ standard }: Choice): boolean {
  return standard === healthy
}

function standardFor(endpoints: readonly Candidate[], hasLoadBalancerIPs: boolean): Standard {
  if (!hasLoadBalancerIPs) return healthy
  if (!endpoints.some(({ serving }) => serving)) return 'any'
  return endpoints.every(({ ready, terminating }) => terminating || !ready) ? 'serving' : healthy
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
