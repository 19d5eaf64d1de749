/** How an HNS in memory behaves. What nobody could verify on Windows is an option, so that tests try both ways. */
import type { HnsVersion } from '../hcn.ts'

export type HnsProfile = '2019' | '2022' | '2025'

export interface HnsOptions {
  /** The Windows Server that it is of. */
  readonly profile?: HnsProfile
  /** Instead of the one that the profile has. */
  readonly version?: HnsVersion
  /** The letters of ids in replies. */
  readonly idCase?: 'lower' | 'upper' | 'now this, now that'
  /** Which code an unknown id gets: one for all, or one for each kind. */
  readonly unknownId?: 'element not found' | 'kind not found'
  /** Deleting an endpoint that a load balancer names. */
  readonly endpointInUse?: 'is refused' | 'degrades its load balancers'
  /** Whether load balancers of a removed network can be deleted before HNS restarts. */
  readonly orphanedLoadBalancers?: 'can be deleted' | 'cannot be deleted'
  /** Whether a load balancer that is refused leaves one without port mappings. */
  readonly refusedLoadBalancer?: 'leaves nothing' | 'leaves a half'
  /** Whether a filter with an unknown key is an error. */
  readonly unknownFilter?: 'is ignored' | 'is refused'
  /** Ports that programs listen on. Server 2019 does not forward them. */
  readonly hostPorts?: readonly { readonly protocol: number; readonly port: number }[]
  readonly hostIps?: readonly string[]
  /** What HNS replaces when it is asked to change a load balancer, and says that it did. */
  readonly changeInPlace?: 'everything' | 'endpoints and ports'
  /** Whether the port of a deleted load balancer stays taken until HNS restarts. */
  readonly deletedPort?: 'is free' | 'stays taken'
}

export const profiles: Readonly<
  Record<
    HnsProfile,
    {
      readonly version: HnsVersion
      /** A pod that moves here has a local endpoint before its remote one is gone. */
      readonly allowsLocalBesideRemote: boolean
      readonly refusesHostPorts: boolean
    }
  >
> = {
  '2019': { version: { major: 9, minor: 3 }, allowsLocalBesideRemote: true, refusesHostPorts: true },
  '2022': { version: { major: 13, minor: 1 }, allowsLocalBesideRemote: true, refusesHostPorts: false },
  '2025': { version: { major: 15, minor: 5 }, allowsLocalBesideRemote: false, refusesHostPorts: false },
}
