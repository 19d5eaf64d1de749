/** Rules for a Service beyond the types of its fields, whether it came as JSON or over a wire. */
import type { Cidr } from '../net/ip.ts'
import { parseCidr } from '../net/ip.ts'
import { shownValue } from '../net/shown-value.ts'
import { wholeNumber } from './field-checks.ts'
import type { ProblemNotes } from './field-checks.ts'
import type { ServicePort, ServiceRecord, TrafficPolicy } from './records.ts'

export const serviceTypes = ['ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName'] as const
export const policies = ['Cluster', 'Local'] as const

/** What the API server fills in if client-IP affinity has no timeout. */
export const defaultAffinitySeconds = 10_800

/** Whether clients outside the cluster may use the Service. */
export function isReachableFromOutside(type: unknown, hasExternalIPs: boolean): boolean {
  return type === 'LoadBalancer' || type === 'NodePort' || (type === 'ClusterIP' && hasExternalIPs)
}

/** Only a Service that can be reached from outside has one of its own. */
export function externalTrafficPolicy(
  type: ServiceRecord['type'],
  hasExternalIPs: boolean,
  wished: TrafficPolicy,
): TrafficPolicy {
  return isReachableFromOutside(type, hasExternalIPs) ? wished : 'Cluster'
}

/** Of two ports with the same name and protocol, the last one is used. */
export function addServicePort(
  portsById: Map<string, ServicePort>,
  port: ServicePort,
  field: string,
  notes: ProblemNotes,
): void {
  const { name, protocol } = port
  const id = `${name}/${protocol}`
  if (portsById.has(id))
    notes.problem(field, `repeats port name ${shownValue(name)} for ${protocol}; the last one is used`)
  portsById.set(id, port)
}

/**
 * A restriction that cannot be read still restricts: it is unknown what it should allow, so it allows nobody. `count`
 * is how many there are, including those that are not even texts.
 */
export function readSourceRanges(
  texts: Iterable<readonly [string, number]>,
  count: number,
  notes: ProblemNotes,
): Pick<ServiceRecord, 'sourceRanges' | 'hasUnreadableSourceRange'> {
  const ranges: Cidr[] = []
  for (const [text, index] of texts) {
    const cidr = parseCidr(text.trim())
    if (cidr !== undefined) ranges.push(cidr)
    else
      notes.problem(
        `spec.loadBalancerSourceRanges[${index}]`,
        `${shownValue(text)} is not a CIDR such as 10.0.0.0/8; it allows nobody to use the load-balancer IPs`,
      )
  }
  return { sourceRanges: ranges, ...(ranges.length < count && { hasUnreadableSourceRange: true }) }
}

export function affinitySeconds(timeout: unknown, notes: ProblemNotes): number {
  if (timeout === undefined || timeout === null) return defaultAffinitySeconds
  const field = 'spec.sessionAffinityConfig.clientIP.timeoutSeconds'
  return wholeNumber(timeout, { min: 1, max: 86_400 }, field, notes) ?? defaultAffinitySeconds
}

/** Load balancers ask it which nodes have an endpoint. It only matters where some have none: with policy Local. */
export function healthCheckNodePort(
  { type, externalTrafficPolicy: policy }: Pick<ServiceRecord, 'type' | 'externalTrafficPolicy'>,
  read: () => number,
  notes: ProblemNotes,
): number {
  if (type !== 'LoadBalancer' || policy !== 'Local') return 0
  const port = read()
  if (port === 0)
    notes.problem('spec.healthCheckNodePort', 'is needed by a load balancer with externalTrafficPolicy Local')
  return port
}
