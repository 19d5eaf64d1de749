/** What the rules of one Service port are about, worked out once: its names, and which chains it needs. */
import { externalOutcome, internalOutcome } from '../../core/routing/outcome.ts'
import { routeName } from '../../core/route.ts'
import type { Route } from '../../core/route.ts'
import { serviceChainNames } from './chain-names.ts'
import type { ServiceChainNames } from './chain-names.ts'

export interface ServiceFacts {
  readonly route: Route
  /** `namespace/name:port`, as it stands in every comment. */
  readonly name: string
  readonly chains: ServiceChainNames
  readonly hasInternal: boolean
  readonly hasExternal: boolean
  /** Where traffic for the cluster IP goes. */
  readonly internalChain: string
  /** Where traffic from outside goes in the end. */
  readonly externalPolicyChain: string
  readonly usesExternalChain: boolean
  readonly usesFirewallChain: boolean
  readonly usesClusterChain: boolean
  readonly usesLocalChain: boolean
}

export function serviceFacts(route: Route): ServiceFacts {
  const chains = serviceChainNames(route)
  const isInternalLocal = route.internalPolicy === 'Local'
  const isExternalLocal = route.externalPolicy === 'Local'
  const { hasUsableEndpoint, isExternallyAccessible } = route
  return {
    route,
    name: routeName(route),
    chains,
    hasInternal: internalOutcome(route).kind === 'forward',
    // What is not accessible from outside has no local endpoints worked out, and needs none.
    hasExternal: externalOutcome(route).kind === 'forward',
    internalChain: isInternalLocal ? chains.local : chains.cluster,
    externalPolicyChain: isExternalLocal ? chains.local : chains.cluster,
    // Even without an endpoint for outside traffic: pods and the node itself may use endpoints elsewhere.
    usesExternalChain: hasUsableEndpoint && isExternallyAccessible,
    usesFirewallChain: hasUsableEndpoint && route.loadBalancerIPs.length > 0 && route.sourceRanges !== undefined,
    usesClusterChain: route.clusterEndpoints.length > 0 && (!isInternalLocal || isExternallyAccessible),
    usesLocalChain: route.localEndpoints.length > 0 && (isInternalLocal || (isExternalLocal && isExternallyAccessible)),
  }
}
