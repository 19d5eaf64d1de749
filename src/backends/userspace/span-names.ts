import type { RouteSpanNames } from '../../core/routing/routed-events.ts'

/** The names that this mode has always had in traces: for those who look for them. */
export const userspaceSpanNames: RouteSpanNames = ({ kind, verb }) =>
  kind === 'EndpointSlice' ? `LoadBalancerRR.OnEndpointSlice${verb === 'List' ? 'sSynced' : verb}` : 'serviceChange'
