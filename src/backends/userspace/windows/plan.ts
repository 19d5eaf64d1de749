/** Where to listen for a route on a Windows node, and which addresses that takes. */
import type { NodeFacts } from '../../../core/backend.ts'
import type { Route } from '../../../core/route.ts'
import { planRoute } from '../plan.ts'
import type { PlannedListener, RoutePlan } from '../plan.ts'

/** Node ports are open on these addresses; undefined: on all of them, also those that come later. */
export function planWindowsRoute(route: Route, node: NodeFacts, nodePortIps: readonly string[] | undefined): RoutePlan {
  const everywhere = [route.family === 'ipv4' ? '0.0.0.0' : '::']
  const plan = planRoute(route, node, { kind: 'service-addresses', nodePortIps: nodePortIps ?? everywhere })
  return plan.problem === undefined ? plan : { ...plan, problem: noSctpOnWindows }
}

const noSctpOnWindows = 'the userspace mode does not support SCTP'

/** Those that are the Service's own, each once. */
export function addressesOf(listeners: readonly PlannedListener[]): readonly string[] {
  return [...new Set(listeners.filter(({ purpose }) => purpose !== 'node-port').map(({ ip }) => ip))]
}
