/** Where clients reach a Service port, and what happens to them there. */
import type { TrafficPolicy } from '../../api/records.ts'
import type { AllowedSources, Endpoint, Entrance, NonEmpty, Outcome, Route, Treatment } from '../route.ts'

/** Who may serve on this node. */
type Servers = Pick<Route, 'clusterEndpoints' | 'localEndpoints' | 'hasUsableEndpoint'>

export function internalTreatment(policy: TrafficPolicy, servers: Servers): Treatment {
  const outcome = outcomeUnder(policy, servers)
  return { inside: outcome, outside: outcome, keepsSourceOf: 'pods' }
}

export function externalTreatment(policy: TrafficPolicy, servers: Servers): Treatment {
  const outside = outcomeUnder(policy, servers)
  if (policy === 'Cluster') return { inside: outside, outside, keepsSourceOf: 'nobody' }
  // Traffic that starts on this node did not come from outside, whichever address it uses: policy Local is not for it.
  return { inside: outcomeUnder('Cluster', servers), outside, keepsSourceOf: 'all-but-node' }
}

export interface Places {
  readonly clusterIP: string
  readonly port: number
  readonly externalIPs: readonly string[]
  readonly loadBalancerIPs: readonly string[]
  /** Who may use the load-balancer IPs; undefined means everybody. */
  readonly allowed: AllowedSources | undefined
  readonly nodePort: number | undefined
}

export function entrancesOf(
  { clusterIP, port, externalIPs, loadBalancerIPs, allowed, nodePort }: Places,
  { internal, external }: Pick<Route, 'internal' | 'external'>,
): NonEmpty<Entrance> {
  const first: Entrance = { kind: 'cluster-ip', ip: clusterIP, port, allowed: undefined, ...internal }
  if (external === undefined) return [first]
  return [
    first,
    ...externalIPs.map((ip): Entrance => {
      // Naming the address of the load balancer once more must not open it to everybody.
      const isRestricted = allowed !== undefined && loadBalancerIPs.includes(ip)
      return { kind: 'external-ip', ip, port, ...external, allowed: isRestricted ? allowed : undefined }
    }),
    ...loadBalancerIPs.map((ip): Entrance => ({ kind: 'load-balancer-ip', ip, port, ...external, allowed })),
    ...(nodePort === undefined
      ? []
      : [{ kind: 'node-port', port: nodePort, ...external, allowed: undefined } as const]),
  ]
}

export function outcomeUnder(policy: TrafficPolicy, servers: Servers): Outcome {
  const endpoints: readonly Endpoint[] = policy === 'Local' ? servers.localEndpoints : servers.clusterEndpoints
  if (isNonEmpty(endpoints)) return { kind: 'forward', policy, to: endpoints }
  return { kind: servers.hasUsableEndpoint ? 'drop' : 'reject', policy }
}

function isNonEmpty<T>(list: readonly T[]): list is NonEmpty<T> {
  return list.length > 0
}
