/** A decoded Service, and what its type needs. */
import type { ApiObject } from '../resource.ts'

export interface Service extends ApiObject {
  readonly spec: ServiceSpec
  readonly status?: ServiceStatus
}

export interface ServiceSpec {
  readonly type: string
  readonly ports?: readonly ServicePort[]
  readonly selector?: Readonly<Record<string, string>>
  readonly clusterIP?: string
  readonly clusterIPs?: readonly string[]
  readonly ipFamilies?: readonly string[]
  readonly ipFamilyPolicy?: string
  readonly externalIPs?: readonly string[]
  readonly externalName?: string
  readonly externalTrafficPolicy?: string
  readonly internalTrafficPolicy?: string
  readonly trafficDistribution?: string
  readonly healthCheckNodePort?: number
  readonly sessionAffinity?: string
  readonly sessionAffinityConfig?: { readonly clientIP?: { readonly timeoutSeconds?: number } }
  readonly loadBalancerIP?: string
  readonly loadBalancerClass?: string
  readonly loadBalancerSourceRanges?: readonly string[]
  readonly allocateLoadBalancerNodePorts?: boolean
}

export interface ServicePort {
  readonly name?: string
  readonly protocol: string
  readonly port: number
  readonly targetPort: number | string
  readonly nodePort?: number
  readonly appProtocol?: string
}

interface ServiceStatus {
  readonly loadBalancer?: { readonly ingress?: readonly LoadBalancerIngress[] }
}

interface LoadBalancerIngress {
  readonly ip?: string
  readonly hostname?: string
  readonly ipMode?: string
}

export function isHeadless(spec: ServiceSpec): boolean {
  return spec.clusterIP === 'None'
}

export function needsClusterIP(spec: ServiceSpec): boolean {
  return spec.type !== 'ExternalName'
}

export function needsNodePorts(spec: ServiceSpec): boolean {
  return spec.type === 'NodePort' || (spec.type === 'LoadBalancer' && spec.allocateLoadBalancerNodePorts !== false)
}

export function needsHealthCheckNodePort(spec: ServiceSpec): boolean {
  return spec.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local'
}
