/** What Services may ask of this node, where the administrator has a choice. */
import type { ApiServerAddress } from './address-claims.ts'

export interface ServingPolicy {
  /** Feature gate AllowServiceExternalIPs: without it nobody can claim an address by writing it into a Service. */
  readonly allowExternalIPs: boolean
  /** Source ranges of one IP family close the load-balancer IPs of the other one. kube-proxy leaves them open. */
  readonly strictSourceRanges: boolean
  /** Addresses in 127.0.0.0/8 and ::1 may be used. Only where no rule of the kernel leads there. */
  readonly allowLoopback: boolean
  /** Which endpoints serve: as on Linux, or as Windows nodes have it (kernelspace-rules.ts). */
  readonly endpointRules: 'usual' | 'kernelspace'
  /** Where Fairlead itself reaches the API server: never another Service's. */
  readonly apiServers: readonly ApiServerAddress[]
}

/** What kube-proxy does. */
export const usualPolicy: ServingPolicy = {
  allowExternalIPs: true,
  strictSourceRanges: false,
  allowLoopback: false,
  endpointRules: 'usual',
  apiServers: [],
}
