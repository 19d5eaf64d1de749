/** What Services may ask of this node, where the administrator has a choice. */
import type { Algorithm } from '../../api/records.ts'
import type { ApiServerAddress } from './address-claims.ts'
import type { GuardPolicy } from './address-guard.ts'
import { allAbilities } from './mode-abilities.ts'
import type { ModeAbilities } from './mode-abilities.ts'

export interface ServingPolicy {
  /** Feature gate AllowServiceExternalIPs: without it nobody can claim an address by writing it into a Service. */
  readonly allowExternalIPs: boolean
  /** Source ranges of one IP family close the load-balancer IPs of the other one. kube-proxy leaves them open. */
  readonly strictSourceRanges: boolean
  /** Addresses in 127.0.0.0/8 and ::1 may be used. Only where no rule of the kernel leads there. */
  readonly allowLoopback: boolean
  /** Which endpoints serve: as on Linux, or as Windows nodes have it (kernelspace-rules.ts). */
  readonly endpointRules: 'usual' | 'kernelspace'
  /** What of the wishes of Services the mode can fulfil. */
  readonly abilities: ModeAbilities
  /** For Services that do not say how endpoints are chosen; undefined: as the mode does it. */
  readonly algorithm: Algorithm | undefined
  /** Where Fairlead itself reaches the API server: never another Service's. */
  readonly apiServers: readonly ApiServerAddress[]
  /** Which external and load-balancer IPs are not for a Service to name. */
  readonly guard: GuardPolicy
}

/** What kube-proxy does; what is dangerous is said. */
export const usualPolicy: ServingPolicy = {
  allowExternalIPs: true,
  strictSourceRanges: false,
  allowLoopback: false,
  endpointRules: 'usual',
  abilities: allAbilities,
  algorithm: undefined,
  apiServers: [],
  guard: { mode: 'warn', externalIPCidrs: [], byNamespace: false, podRanges: [] },
}
